//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/kraftside/kraftside/demo"
	"github.com/kraftside/kraftside/internal/kafka"
	"github.com/kraftside/kraftside/test/realkafka"
)

// dumpLine is a record of type 3, 11 or 17 as Kafka's dump tool prints it.
var dumpLine = regexp.MustCompile(`^\| offset: (\d+) .*? key: \{"type":"(3|11|17)","data":(\{.*?\})\} payload: (.*)$`)

// storedHashes has Kafka's own tool read the logs in dir, and returns every record that stores a hash.
func storedHashes(ctx context.Context, version, dir string) (all []demo.StoredHash, err error) {
	for p := range int32(offsetsPartitions) {
		file := filepath.Join(dir, fmt.Sprintf("%s-%d", kafka.OffsetsTopic, p), segment)
		lines, err := realkafka.Dump(ctx, version, file)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			if match := dumpLine.FindStringSubmatch(line); match != nil {
				h, err := parseHash(match)
				if err != nil {
					return nil, fmt.Errorf("%w in what the dump tool prints of %s: %s", err, file, line)
				}
				h.Partition = p
				all = append(all, h)
			}
		}
	}
	return all, nil
}

var errTombstone = errors.New("tombstone, which stores no hash,")

func parseHash(match []string) (h demo.StoredHash, err error) {
	var key struct {
		GroupID string `json:"groupId"`
	}
	var value *struct {
		Data struct {
			Epoch        int32 `json:"epoch"`
			MetadataHash int64 `json:"metadataHash"`
		} `json:"data"`
	}
	offset, err := strconv.ParseInt(match[1], 10, 64)
	if match[4] == "<null>" {
		err = errors.Join(err, errTombstone)
	}
	err = errors.Join(err, json.Unmarshal([]byte(match[3]), &key))
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal([]byte(match[4]), &value); err != nil {
		return h, err
	}
	h.Type, _ = strconv.Atoi(match[2]) // digits, by the expression
	h.Group, h.Offset = key.GroupID, kafka.Offset(offset)
	h.Epoch, h.MetadataHash = value.Data.Epoch, value.Data.MetadataHash
	return h, nil
}

// total counts the records of each type.
func total(hashes []demo.StoredHash) string {
	count := func(t int) int {
		return len(slices.DeleteFunc(slices.Clone(hashes), func(h demo.StoredHash) bool { return h.Type != t }))
	}
	return fmt.Sprintf("%d records with a hash: %d of type 3, %d of type 11, %d of type 17", len(hashes), count(3), count(11), count(17))
}
