package delta

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kraftside/kraftside/image"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/metadatalog/record"
)

// Values of BrokerRegistrationChangeRecord
// (BrokerRegistrationFencingChange, BrokerRegistrationInControlledShutdownChange).
const (
	changeNone  = 0
	changeFence = 1
	unfence     = -1
)

// replayCluster replays the records of brokers and controllers.
func (d *Delta) replayCluster(m record.Message) (handled bool, err error) {
	switch r := m.(type) {
	case *record.RegisterBrokerRecord:
		d.registerBroker(r)
		d.note(source{number: r.BrokerID, kind: record.TypeRegisterBrokerRecord})
	case *record.UnregisterBrokerRecord:
		if err = d.unregisterBroker(kafka.NodeID(r.BrokerID)); err == nil {
			d.note(source{number: r.BrokerID, kind: record.TypeUnregisterBrokerRecord})
		}
	case *record.BrokerRegistrationChangeRecord:
		err = d.changeBroker(r)
	case *record.FenceBrokerRecord:
		err = d.fence(r.ID, r.Epoch, true)
	case *record.UnfenceBrokerRecord:
		err = d.fence(r.ID, r.Epoch, false)
	case *record.RegisterControllerRecord:
		d.builder.SetController(controllerOf(r))
	case *record.UnregisterControllerRecord:
		if !d.builder.RemoveController(kafka.NodeID(r.ControllerID)) {
			err = conflict("controller %d is not registered", r.ControllerID)
		}
	default:
		return false, nil
	}
	return true, err
}

func (d *Delta) registerBroker(r *record.RegisterBrokerRecord) {
	b := &image.Broker{
		ID:                   kafka.NodeID(r.BrokerID),
		IncarnationID:        r.IncarnationID,
		Epoch:                r.BrokerEpoch,
		Rack:                 cloneNullable(r.Rack),
		Fenced:               r.Fenced,
		InControlledShutdown: r.InControlledShutdown,
		IsMigratingZkBroker:  r.IsMigratingZkBroker,
		LogDirs:              slices.Clone(r.LogDirs),
		CordonedLogDirs:      slices.Clone(r.CordonedLogDirs),
	}
	for _, e := range r.EndPoints {
		b.EndPoints = append(b.EndPoints, endPoint(e.Name, e.Host, e.Port, e.SecurityProtocol))
	}
	for _, f := range r.Features {
		b.Features = append(b.Features, supported(f.Name, f.MinSupportedVersion, f.MaxSupportedVersion))
	}
	sortByName(b.EndPoints, b.Features)
	d.setBroker(b)
}

func controllerOf(r *record.RegisterControllerRecord) *image.Controller {
	c := &image.Controller{
		ID:               kafka.NodeID(r.ControllerID),
		IncarnationID:    r.IncarnationID,
		ZkMigrationReady: r.ZkMigrationReady,
	}
	for _, e := range r.EndPoints {
		c.EndPoints = append(c.EndPoints, endPoint(e.Name, e.Host, e.Port, e.SecurityProtocol))
	}
	for _, f := range r.Features {
		c.Features = append(c.Features, supported(f.Name, f.MinSupportedVersion, f.MaxSupportedVersion))
	}
	sortByName(c.EndPoints, c.Features)
	return c
}

// sortByName gives the lists one order: Kafka keeps them in hash maps, so that
// a snapshot has them in another order than the log.
func sortByName(endPoints []image.EndPoint, features []image.SupportedFeature) {
	slices.SortFunc(endPoints, func(a, b image.EndPoint) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(features, func(a, b image.SupportedFeature) int { return strings.Compare(a.Name, b.Name) })
}

func endPoint(name, host string, port uint16, protocol int16) image.EndPoint {
	return image.EndPoint{Name: strings.Clone(name), Host: strings.Clone(host), Port: port, SecurityProtocol: protocol}
}

func supported(name string, lowest, highest int16) image.SupportedFeature {
	return image.SupportedFeature{Name: strings.Clone(name), Min: lowest, Max: highest}
}

// unregisterBroker compares no epoch: Kafka does not either.
func (d *Delta) unregisterBroker(id kafka.NodeID) error {
	if !d.builder.RemoveBroker(id) {
		return fmt.Errorf("%w: broker %d", ErrUnknownBroker, id)
	}
	d.brokers = append(d.brokers, id)
	return nil
}

func (d *Delta) changeBroker(r *record.BrokerRegistrationChangeRecord) error {
	b, err := d.brokerForChange(r.BrokerID, r.BrokerEpoch)
	if err != nil {
		return err
	}
	switch r.Fenced {
	case changeNone:
	case changeFence, unfence:
		b.Fenced = r.Fenced == changeFence
	default:
		return conflict("fencing change %d of broker %d", r.Fenced, r.BrokerID)
	}
	switch r.InControlledShutdown {
	case changeNone:
	case 1:
		b.InControlledShutdown = true
	default:
		return conflict("controlled shutdown change %d of broker %d", r.InControlledShutdown, r.BrokerID)
	}
	if len(r.LogDirs) > 0 {
		b.LogDirs = slices.Clone(r.LogDirs)
	}
	if r.CordonedLogDirs != nil {
		b.CordonedLogDirs = slices.Clone(r.CordonedLogDirs)
	}
	d.setBroker(b)
	return nil
}

func (d *Delta) fence(id int32, epoch int64, fenced bool) error {
	b, err := d.brokerForChange(id, epoch)
	if err != nil {
		return err
	}
	b.Fenced = fenced
	d.setBroker(b)
	return nil
}

// brokerForChange returns a copy of a registration, which must have the epoch.
func (d *Delta) brokerForChange(id int32, epoch int64) (*image.Broker, error) {
	b, ok := d.builder.Cluster().Broker(kafka.NodeID(id))
	if !ok {
		return nil, fmt.Errorf("%w: broker %d", ErrUnknownBroker, id)
	}
	if b.Epoch != epoch {
		return nil, conflict("broker %d has the epoch %d, the record %d", id, b.Epoch, epoch)
	}
	c := *b
	return &c, nil
}

// brokerRecord is the record that registers a broker as it is now.
func (d *Delta) brokerRecord(id int32) record.Message {
	b, _ := d.builder.Cluster().Broker(kafka.NodeID(id))
	return image.BrokerRecord(b)
}

func (d *Delta) setBroker(b *image.Broker) {
	d.builder.SetBroker(b)
	d.brokers = append(d.brokers, b.ID)
}

func cloneNullable(s *string) *string {
	if s == nil {
		return nil
	}
	c := strings.Clone(*s)
	return &c
}
