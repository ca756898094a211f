package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kraftside/kraftside/internal/cli"
)

// version is what the go command recorded about the binary.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // the sources were not those of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf(info *debug.BuildInfo) version {
	v := version{Version: info.Main.Version, Go: info.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v *version) text(t *cli.Text) {
	t.Printf("kraftside %s", v.Version)
	if v.Revision != "" {
		t.Printf(", revision %s of %s", v.Revision, v.Time)
	}
	if v.Modified {
		t.Printf(", modified")
	}
	t.Printf("\nbuilt with %s for %s\n", v.Go, v.Platform)
}

func versionCommand(out *cli.Output) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which kraftside this is",
		Args:  takes(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return cli.Errorf(cli.Failed, "version: the binary was built without module support and does not know its version")
			}
			v := versionOf(info)
			return out.Print(&v, v.text)
		},
	}
}
