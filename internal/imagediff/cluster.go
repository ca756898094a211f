package imagediff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/cli"
	"github.com/kraftside/kraftside/internal/kafka"
)

func brokers(m *image.MetadataImage) (all []thing) {
	for b := range m.Cluster().Brokers() {
		all = append(all, thing{
			key:      b.ID,
			identity: Change{Part: Brokers, Node: &b.ID},
			name:     fmt.Sprintf("broker %d", b.ID),
			added:    "registered", removed: "unregistered",
			fields: []field{
				optional("rack", b.Rack),
				detailed(plain("epoch", b.Epoch)),
				flag("fenced", "fenced", b.Fenced),
				flag("inControlledShutdown", "in controlled shutdown", b.InControlledShutdown),
				detailed(endPoints(b.EndPoints)),
				detailed(supported(b.Features)),
				detailed(plain("incarnationId", b.IncarnationID)),
				flag("isMigratingZkBroker", "migrating from ZooKeeper", b.IsMigratingZkBroker),
				detailed(ids("logDirs", b.LogDirs, false)),
				detailed(ids("cordonedLogDirs", b.CordonedLogDirs, b.CordonedLogDirs == nil)),
			},
		})
	}
	return all
}

func controllers(m *image.MetadataImage) (all []thing) {
	for c := range m.Cluster().Controllers() {
		all = append(all, thing{
			key:      c.ID,
			identity: Change{Part: Controllers, Node: &c.ID},
			name:     fmt.Sprintf("controller %d", c.ID),
			added:    "registered", removed: "unregistered",
			fields: []field{
				detailed(endPoints(c.EndPoints)),
				detailed(supported(c.Features)),
				detailed(plain("incarnationId", c.IncarnationID)),
				flag("zkMigrationReady", "ready to migrate from ZooKeeper", c.ZkMigrationReady),
			},
		})
	}
	return all
}

func optional(name string, value *string) field {
	if value == nil {
		return field{name: name, text: "none"}
	}
	return field{name: name, value: *value, shown: *value, text: cli.Name(*value)}
}

// securityProtocols are the names of Kafka's SecurityProtocol.
var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

type endPoint struct {
	Name             string `json:"name"`
	Host             string `json:"host"`
	Port             uint16 `json:"port"`
	SecurityProtocol int16  `json:"securityProtocol"`
}

func endPoints(list []image.EndPoint) field {
	shown := make([]endPoint, len(list))
	texts := make([]string, len(list))
	for i, e := range list {
		shown[i] = endPoint(e)
		protocol := fmt.Sprint(e.SecurityProtocol)
		if n := int(e.SecurityProtocol); n >= 0 && n < len(securityProtocols) {
			protocol = securityProtocols[n]
		}
		texts[i] = fmt.Sprintf("%s://%s:%d (%s)", cli.Name(e.Name), cli.Name(e.Host), e.Port, protocol)
	}
	return field{name: "endPoints", value: shown, shown: shown, text: "[" + strings.Join(texts, ", ") + "]"}
}

func supported(list []image.SupportedFeature) field {
	shown := make(map[string][2]int16, len(list))
	texts := make([]string, len(list))
	for i, f := range list {
		shown[f.Name] = [2]int16{f.Min, f.Max}
		texts[i] = fmt.Sprintf("%s %d-%d", cli.Name(f.Name), f.Min, f.Max)
	}
	return field{name: "features", value: append([]image.SupportedFeature{}, list...), shown: shown, text: "[" + strings.Join(texts, ", ") + "]"}
}

// ids is a list of directory ids. Where null differs from empty it is told
// apart.
func ids(name string, list []kafka.UUID, null bool) field {
	if null {
		return field{name: name, text: "none"}
	}
	list = append([]kafka.UUID{}, list...)
	return field{name: name, value: list, shown: list, text: idList(list)}
}

func idList(list []kafka.UUID) string {
	texts := make([]string, len(list))
	for i, id := range list {
		texts[i] = directory(id)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// directory is the id of a log directory, or Kafka's word for the ids that are
// reserved.
func directory(id kafka.UUID) string {
	reserved := []kafka.UUID{kafka.DirMigrating, kafka.DirUnassigned, kafka.DirLost}
	if i := slices.Index(reserved, id); i >= 0 {
		return [...]string{"MIGRATING", "UNASSIGNED", "LOST"}[i]
	}
	return id.String()
}

func nodeList(list []kafka.NodeID) string {
	return strings.ReplaceAll(fmt.Sprint(list), " ", ",")
}
