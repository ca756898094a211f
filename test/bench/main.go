// Command bench measures the metadata image on a large snapshot file, to be
// compared with Kafka's own image on the same file in the same run: see
// README.md beside it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/kraftside/kraftside/metadatalog"
)

// result is what is printed. Times are medians of the runs, except for the
// cold load and the single change, which is the best.
type result struct {
	Records             int     `json:"records"`
	Bytes               int64   `json:"bytes"`
	ColdLoadMs          float64 `json:"coldLoadMs"`
	LoadMs              float64 `json:"loadMs"`
	HeapBytes           uint64  `json:"heapBytes"`
	PeakRssBytes        uint64  `json:"peakRssBytes"`
	AllocsPerRecord     float64 `json:"allocsPerRecord"`
	OutageRecords       int     `json:"outageRecords"`
	OutageApplyMs       float64 `json:"outageApplyMs"`
	SingleChangeNs      float64 `json:"singleChangeNs"`
	SingleChangeBytes   float64 `json:"singleChangeBytes"`
	Changes             int     `json:"changes"`
	ChangeNs            float64 `json:"changeNs"`
	HeapAfterChanges    uint64  `json:"heapAfterChangesBytes"`
	Topics              int     `json:"topics"`
	HashAllMs           float64 `json:"hashAllMs"`
	HashNsPerTopic      float64 `json:"hashNsPerTopic"`
	HashXor             int64   `json:"hashXor,string"`
	RecordsComeBackSame bool    `json:"recordsComeBackSame"`
	StoreWriteMs        float64 `json:"storeWriteMs"`
	StoreBytes          int64   `json:"storeBytes"`
	StoreOpenMs         float64 `json:"storeOpenMs"`
}

func main() {
	snapshot := flag.String("snapshot", "", "snapshot `FILE`, named ENDOFFSET-EPOCH.checkpoint")
	runs := flag.Int("runs", 5, "how often each is measured")
	changes := flag.Int("changes", 1_000_000, "how many random changes follow each other")
	asJSON := flag.Bool("json", false, "print one JSON object")
	coldOnly := flag.Bool("cold", false, "only the first load of the process, its memory and its allocations")
	flag.Parse()
	if err := run(*snapshot, *runs, *changes, *asJSON, *coldOnly); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(file string, runs, changes int, asJSON, coldOnly bool) error {
	if file == "" {
		return fmt.Errorf("no snapshot given: make one with test/jvm, then pass -snapshot FILE")
	}
	id, err := metadatalog.ParseSnapshotID(filepath.Base(file))
	if err != nil {
		return err
	}
	b := &bench{file: file, id: id, runs: max(1, runs)}
	steps := []func() error{b.coldLoad}
	if !coldOnly {
		steps = append(steps, b.load, b.comeBack, b.hash, b.outage, b.singleChange,
			func() error { return b.manyChanges(changes) }, b.storeRoundTrip)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return print(&b.result, asJSON)
}

func print(r *result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fmt.Printf("%-22s %v\n", name, v.Field(i).Interface())
	}
	return nil
}
