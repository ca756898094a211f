//go:build unix

// Package jvm runs Java programs on the class path of a released Kafka, so that tests compare with Kafka's own classes.
//
// Releases come from Maven as ordinary artifacts and stay in a cache outside the checkout; the programs are the .java
// files beside this one, compiled once per release and source text. Several test processes may use the cache at once.
// A missing java, javac or mvn is an error that says so: nothing here skips.
package jvm

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Newest is the release that tests use unless they say otherwise.
const Newest = "4.4.0"

// Versions returns the releases that the project is tested against, newest first.
func Versions() []string {
	return []string{Newest, "4.3.1", "4.2.1", "4.1.2", "4.0.2"}
}

//go:embed pom.xml log4j2.properties *.java
var sources embed.FS

// ClassPath returns the jars of a Kafka release, joined as java -cp takes them, and downloads them when the cache
// lacks them. The order is fixed: a class data archive is valid for one order only.
func ClassPath(ctx context.Context, version string) (string, error) {
	pom, err := sources.ReadFile("pom.xml")
	if err != nil {
		return "", err
	}
	dir, err := Cached("kafka-"+version+"-"+Digest(pom), func(dir string) error {
		return download(ctx, version, pom, dir)
	})
	if err != nil {
		return "", fmt.Errorf("jars of Kafka %s: %w", version, err)
	}
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return "", err
	}
	slices.Sort(jars)
	return strings.Join(jars, string(os.PathListSeparator)), nil
}

func download(ctx context.Context, version string, pom []byte, dir string) error {
	work, err := os.MkdirTemp("", "kraftside-pom-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	file := filepath.Join(work, "pom.xml")
	if err := os.WriteFile(file, pom, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-Dstyle.color=never", "-f", file, "dependency:copy-dependencies",
		"-Dkafka.version="+version, "-DincludeScope=runtime", "-DoutputDirectory="+dir)
	if err := run(cmd); err != nil {
		return fmt.Errorf("download with mvn (needs Maven and a reachable Maven repository): %w", err)
	}
	return nil
}

// Program returns the class path that runs the Java program name (the file name.java of this directory) on a release.
// The jars come first: a class data archive made from them alone then holds for the program too.
func Program(ctx context.Context, version, name string) (string, error) {
	classPath, err := ClassPath(ctx, version)
	if err != nil {
		return "", err
	}
	key, err := sourceDigest()
	if err != nil {
		return "", err
	}
	dir, err := Cached("program-"+name+"-"+version+"-"+key, func(dir string) error {
		return compile(ctx, classPath, name, dir)
	})
	if err != nil {
		return "", fmt.Errorf("compile %s.java for Kafka %s: %w", name, version, err)
	}
	return classPath + string(os.PathListSeparator) + dir, nil
}

// sourceDigest names the state of all programs: they share classes.
func sourceDigest() (string, error) {
	files, err := fs.Glob(sources, "*.java")
	if err != nil {
		return "", err
	}
	var all []byte
	for _, f := range files {
		b, err := sources.ReadFile(f)
		if err != nil {
			return "", err
		}
		all = append(all, b...)
	}
	return Digest(all), nil
}

// compile compiles a program and the classes that it uses. The others may not compile on this release.
func compile(ctx context.Context, classPath, name, dir string) error {
	src, err := os.MkdirTemp("", "kraftside-java-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(src)
	if err := os.CopyFS(src, sources); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "javac", "-proc:none", "-nowarn", "-encoding", "UTF-8",
		"-cp", classPath, "-sourcepath", src, "-d", dir, filepath.Join(src, name+".java"))
	if err := run(cmd); err != nil {
		return fmt.Errorf("javac (needs a JDK, 17 or newer): %w", err)
	}
	return nil
}

// LogConfig returns the option that makes a Java program log to standard error.
func LogConfig() (string, error) {
	const name = "log4j2.properties"
	b, err := sources.ReadFile(name)
	if err != nil {
		return "", err
	}
	dir, err := Cached("logging-"+Digest(b), func(dir string) error {
		return os.WriteFile(filepath.Join(dir, name), b, 0o644)
	})
	return "-Dlog4j2.configurationFile=" + filepath.Join(dir, name), err
}

// Command returns a command, not yet started, that runs a Java program of this directory on a release. The
// options go to the virtual machine, before the class name. The command dies with ctx.
func Command(ctx context.Context, version, name string, options []string, args ...string) (*exec.Cmd, error) {
	classPath, err := Program(ctx, version, name)
	if err != nil {
		return nil, err
	}
	logging, err := LogConfig()
	if err != nil {
		return nil, err
	}
	line := append(slices.Clone(options), logging, "-cp", classPath, name)
	cmd := exec.CommandContext(ctx, "java", append(line, args...)...)
	DieWithParent(cmd)
	return cmd, nil
}

// run runs a command to its end; its error holds the end of what the command said.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return errors.Join(err, errors.New(tail(out)))
}

func tail(out []byte) string {
	const most = 2000
	text := strings.TrimSpace(string(out))
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return text
}

// Digest returns a short name for a content, for the names given to Cached.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}
