package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const variablePrefix = "KRAFTSIDE_"

// environment is what variables say.
type environment struct {
	file  string
	texts map[string]string // by key
}

// The variables by which Kubernetes, and Docker before it, tell a container
// about a service. That the service is called kraftside is likely enough, and
// its variables are no misspelt settings.
var (
	serviceName  = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)
	serviceValue = regexp.MustCompile(`^(tcp|udp|sctp)://`) // of …_PORT
)

// testVariables are those of the project's own tests, which may start `run`.
var testVariables = []string{variablePrefix + "CACHE", variablePrefix + "KAFKA_VERSIONS"}

func (k *keys) readEnvironment(environ []string) (environment, error) {
	env := environment{texts: map[string]string{}}
	names := k.variables()
	var errs []error
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) {
			continue
		}
		switch key, known := names[name]; {
		case known && key == configFlag:
			env.file = text
		case known:
			env.texts[key] = text
		case !isForeign(name, text):
			errs = append(errs, fmt.Errorf("environment: unknown variable %s%s", quoteOdd(name), k.nearestVariable(name)))
		}
	}
	return env, errors.Join(errs...)
}

// variables are the keys by the names of their variables.
func (k *keys) variables() map[string]string {
	names := map[string]string{variable(configFlag): configFlag}
	for _, s := range k.settings {
		names[variable(s.key)] = s.key
	}
	return names
}

func isForeign(name, text string) bool {
	return slices.Contains(testVariables, name) || serviceName.MatchString(name) || strings.HasSuffix(name, "_PORT") && serviceValue.MatchString(text)
}

func (k *keys) loadEnvironment(env environment) error {
	var errs []error
	for _, s := range k.settings {
		text, given := env.texts[s.key]
		if !given {
			continue
		}
		if err := s.value.set(split(s.value, text)); err != nil {
			errs = append(errs, fmt.Errorf("%s %w", variable(s.key), err))
		}
	}
	return errors.Join(errs...)
}
