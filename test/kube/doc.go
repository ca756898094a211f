// Package kube tests the Helm chart without a cluster: what it renders, what it
// refuses, and what its policy makes of brokers' pods, evaluated by Kubernetes' own
// code. It is a module of its own, so that the program does not depend on the
// whole of Kubernetes.
package kube
