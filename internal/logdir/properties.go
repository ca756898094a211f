package logdir

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kraftside/kraftside/internal/kafka"
)

// maxProperties bounds meta.properties and partition.metadata.
const maxProperties = 64 << 10

// Meta is the meta.properties of a log directory: whose it is.
type Meta struct {
	ClusterID string
	NodeID    kafka.NodeID
	// DirectoryID is the id of the directory itself; zero where none is
	// recorded.
	DirectoryID kafka.UUID
}

// ReadMeta reads the meta.properties of a broker's log directory. Version 1 is
// what KRaft writes; version 0 is a ZooKeeper broker's and refused.
func ReadMeta(logDir string) (Meta, error) {
	path := filepath.Join(logDir, "meta.properties")
	content, err := readSmall(path, maxProperties)
	if err != nil {
		return Meta{}, err
	}
	m, err := parseMeta(parseProperties(string(content)))
	if err != nil {
		return Meta{}, fmt.Errorf("read %s: %w: %w", path, ErrFormat, err)
	}
	return m, nil
}

func parseMeta(properties map[string]string) (m Meta, err error) {
	if v := properties["version"]; v != "1" {
		return m, fmt.Errorf("version is %.20q, only 1 (KRaft) is known", v)
	}
	id, err := strconv.ParseInt(properties["node.id"], 10, 32)
	if err != nil || id < 0 {
		return m, fmt.Errorf("node.id is %.20q", properties["node.id"])
	}
	m.NodeID, m.ClusterID = kafka.NodeID(id), properties["cluster.id"]
	if m.ClusterID == "" {
		return m, fmt.Errorf("cluster.id is missing")
	}
	if directory, ok := properties["directory.id"]; ok {
		m.DirectoryID, err = kafka.ParseUUID(directory)
	}
	return m, err
}

// ReadTopicID reads a partition's partition.metadata.
func ReadTopicID(dir string) (kafka.TopicID, error) {
	path := filepath.Join(dir, "partition.metadata")
	content, err := readSmall(path, maxProperties)
	if err != nil {
		return kafka.TopicID{}, err
	}
	properties := parseProperties(string(content))
	if v := properties["version"]; v != "0" {
		return kafka.TopicID{}, fmt.Errorf("read %s: %w: version is %.20q, only 0 is known", path, ErrFormat, v)
	}
	id, err := kafka.ParseUUID(properties["topic_id"])
	if err != nil {
		return id, fmt.Errorf("read %s: %w: %w", path, ErrFormat, err)
	}
	return id, nil
}

// parseProperties reads the form of java.util.Properties as far as Kafka's
// writers use it: no line is continued.
func parseProperties(content string) map[string]string {
	properties := make(map[string]string)
	for line := range strings.Lines(content) {
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value := splitProperty(line)
		properties[unescape(key)] = unescape(strings.TrimLeft(value, " \t\f"))
	}
	return properties
}

// splitProperty cuts a line at the first separator that is not escaped.
func splitProperty(line string) (key, value string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':':
			return strings.TrimRight(line[:i], " \t\f"), line[i+1:]
		}
	}
	return line, ""
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == 'u' && i+5 <= len(s) {
			if unit, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
				b.WriteRune(rune(unit))
				i += 4
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
