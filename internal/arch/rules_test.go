package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/kraftside/kraftside/"

// source is a parsed Go file. Build constraints are ignored: a rule holds
// under every tag.
type source struct {
	dir  string // below the module's root, with slashes
	test bool   // in a _test.go file
	file *ast.File
	pos  *token.FileSet
}

// parseTree parses all Go files below root but for testdata and hidden
// directories.
func parseTree(root string) (sources []source, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s, err := parseSource(filepath.ToSlash(below), name, nil)
		sources = append(sources, s)
		return err
	})
	return sources, err
}

// parseSource parses one file, from content unless that is nil.
func parseSource(below, name string, content any) (source, error) {
	s := source{dir: path.Dir(below), test: strings.HasSuffix(below, "_test.go"), pos: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.pos, name, content, parser.SkipObjectResolution)
	return s, err
}

// violations lists what a file does that its layer may not, each with its
// position.
func violations(s source) (found []string) {
	l, known := layerOf(s.dir)
	if !known {
		return []string{fmt.Sprintf("%s: directory is unknown; add it to the table in internal/arch and in ARCHITECTURE.md", s.dir)}
	}
	report := func(n ast.Node, format string, args ...any) {
		found = append(found, s.pos.Position(n.Pos()).String()+": "+s.dir+" "+fmt.Sprintf(format, args...))
	}
	for _, i := range s.file.Imports {
		name, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
		if why := s.refuses(l, name); why != "" {
			report(i, "must not import %s: %s", name, why)
		}
	}
	if !s.test {
		s.checkBody(l, report)
	}
	return found
}

// refuses says why the file may not import a package, or "".
func (s source) refuses(l layer, name string) string {
	if ours, ok := strings.CutPrefix(name, module); ok {
		return s.refusesOurs(l, ours)
	}
	for library, dirs := range libraries {
		if strings.HasPrefix(name+"/", library) && !slices.Contains(dirs, s.dir) && !s.test {
			return "only " + strings.Join(dirs, " and ") + " may"
		}
	}
	if l.pure && !s.test && isWorldly(name) {
		return "the package is pure"
	}
	return ""
}

func (s source) refusesOurs(l layer, ours string) string {
	target, known := layerOf(ours)
	switch {
	case !known:
		return "it is not in the table in internal/arch"
	case ours == "internal/kafka" || slices.Contains(l.imports, ours) || s.test || l.testing:
		return ""
	case target.testing:
		return "it is for tests"
	case slices.Contains(l.imports, "*"):
		return ""
	}
	return "the table in internal/arch has no such edge"
}

// isWorldly says whether a package of the standard library reaches outside
// the process or into randomness.
func isWorldly(name string) bool {
	root, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"os", "net", "log", "syscall"}, root) ||
		slices.Contains([]string{"io/fs", "math/rand", "math/rand/v2", "crypto/rand"}, name)
}

// clock lists what of package time reads or waits for the clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// checkBody looks at what the code does, as opposed to what it imports.
func (s source) checkBody(l layer, report func(n ast.Node, format string, args ...any)) {
	timeName, imageName := s.localName("time"), s.localName(module+"image")
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if l.pure {
				report(n, "must not start a goroutine: the package is pure")
			}
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			if l.pure && of.Name == timeName && slices.Contains(clock, n.Sel.Name) {
				report(n, "must not call time.%s: the package is pure", n.Sel.Name)
			}
			if of.Name == imageName && strings.HasSuffix(n.Sel.Name, "Builder") && !slices.Contains(mutators, s.dir) {
				report(n, "must not use image.%s: only %s may", n.Sel.Name, strings.Join(mutators, " and "))
			}
		}
		return true
	})
}

// localName is the name by which the file knows an imported package, or "".
func (s source) localName(imported string) string {
	for _, i := range s.file.Imports {
		if name, _ := strconv.Unquote(i.Path.Value); name == imported {
			if i.Name != nil {
				return i.Name.Name
			}
			return path.Base(imported)
		}
	}
	return ""
}
