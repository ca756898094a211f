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

// ClientVariables are those of the commands that ask a sidecar, by flag. They
// may stand in the environment of a sidecar, for commands that are run beside
// it.
var ClientVariables = map[string]string{
	"server":      variablePrefix + "SERVER",
	"token-file":  variablePrefix + "SERVER_TOKEN_FILE",
	"ca-file":     variablePrefix + "SERVER_CA_FILE",
	"cert-file":   variablePrefix + "SERVER_CERT_FILE",
	"key-file":    variablePrefix + "SERVER_KEY_FILE",
	"server-name": variablePrefix + "SERVER_NAME",
}

func isClients(name string) bool {
	for _, variable := range ClientVariables {
		if name == variable {
			return true
		}
	}
	return false
}

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
	return slices.Contains(testVariables, name) || isClients(name) || serviceName.MatchString(name) || strings.HasSuffix(name, "_PORT") && serviceValue.MatchString(text)
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
