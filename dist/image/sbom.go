package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

const unknown = "NOASSERTION"

// bill lists what the program was made of, by what the go command recorded in it:
// the modules that are linked in, with their versions and hashes, and the release
// of Go. What go.mod has for tests alone is not in it.
func bill(p *program) ([]byte, error) {
	d := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: fmt.Sprintf("kraftside-%s-%s", p.platform.OS, p.platform.Architecture),
		CreationInfo: &spdx.CreationInfo{
			Created:  p.time().Format(time.RFC3339),
			Creators: []spdx.Creator{{CreatorType: "Tool", Creator: "kraftside-make-image"}},
		},
	}
	sum := sha256.Sum256(p.content)
	// A name that no other document has, and the same for the same program.
	d.DocumentNamespace = "https://github.com/kraftside/kraftside/sbom/" + hex.EncodeToString(sum[:])
	main := modulePackage(0, &p.info.Main)
	main.PackageChecksums = []spdx.Checksum{{Algorithm: spdx.SHA256, Value: hex.EncodeToString(sum[:])}}
	main.PackageFileName = programPath
	main.PrimaryPackagePurpose, main.PackageLicenseDeclared = "APPLICATION", "Apache-2.0"
	d.Packages = []*spdx.Package{main}
	d.Relationships = []*spdx.Relationship{relation("DOCUMENT", "DESCRIBES", main)}
	compiler := &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(p.info.GoVersion, "go")}
	for i, m := range append([]*debug.Module{compiler}, p.info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		dependency := modulePackage(i+1, m)
		d.Packages = append(d.Packages, dependency)
		d.Relationships = append(d.Relationships, relation(main.PackageSPDXIdentifier, "DEPENDS_ON", dependency))
	}
	var out bytes.Buffer
	err := spdxjson.Write(d, &out, spdxjson.Indent("  "))
	return out.Bytes(), err
}

func modulePackage(n int, m *debug.Module) *spdx.Package {
	p := &spdx.Package{
		PackageName: m.Path, PackageVersion: m.Version, PackageSPDXIdentifier: spdx.ElementID(fmt.Sprintf("module-%d", n)),
		PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown, PackageCopyrightText: unknown,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + m.Path + "@" + m.Version,
		}},
	}
	// It is no checksum of an archive, as SPDX has them, but one over the list of the
	// module's files.
	if m.Sum != "" {
		p.PackageSourceInfo = "in go.sum as " + m.Sum
	}
	return p
}

func relation(from spdx.ElementID, kind string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to.PackageSPDXIdentifier)), Relationship: kind,
	}
}

// statement is a bill of materials as in-toto has it, about one image.
type statement struct {
	Type          string          `json:"_type"`
	PredicateType string          `json:"predicateType"`
	Subject       []subject       `json:"subject"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

const (
	statementType = "https://in-toto.io/Statement/v0.1"
	spdxPredicate = "https://spdx.dev/Document"
	// mediaInToto and the annotations are how BuildKit adds such statements to an
	// index. So they go wherever the image goes, and Docker's tools show them.
	mediaInToto         = types.MediaType("application/vnd.in-toto+json")
	annotationPredicate = "in-toto.io/predicate-type"
	annotationType      = "vnd.docker.reference.type"
	annotationDigest    = "vnd.docker.reference.digest"
)

// attestation is the bill of materials of an image, to be added to the index
// beside it. Its platform is none that a node has, so that no node runs it.
func attestation(v variant) (a mutate.IndexAddendum, err error) {
	of, err := v.image.Digest()
	if err != nil {
		return a, err
	}
	content, err := json.Marshal(statement{
		Type: statementType, PredicateType: spdxPredicate, Predicate: v.bill,
		Subject: []subject{{Name: "kraftside", Digest: map[string]string{of.Algorithm: of.Hex}}},
	})
	if err != nil {
		return a, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	nowhere := v1.Platform{OS: "unknown", Architecture: "unknown"}
	if base, err = mutate.ConfigFile(base, &v1.ConfigFile{OS: nowhere.OS, Architecture: nowhere.Architecture, RootFS: v1.RootFS{Type: "layers"}}); err != nil {
		return a, err
	}
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: static.NewLayer(content, mediaInToto), Annotations: map[string]string{annotationPredicate: spdxPredicate},
	})
	return mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
		Platform:    &nowhere,
		Annotations: map[string]string{annotationType: "attestation-manifest", annotationDigest: of.String()},
	}}, err
}
