// Package kubernetes finds the pods of a Kafka cluster's brokers, so that an operator can see what a
// sidecar would do to them before there is one, and give running sidecars another image without
// restarting a broker.
//
// It asks the API server with the kubeconfig of whoever runs the command. Preflight changes nothing:
// what it creates are dry runs. UpgradeInPlace changes the image of the init container "kraftside" of
// running pods, and nothing else. Pods are copied as the API server gave them, field for field, since
// types of this program may be older than the server. Contents of Secrets are not read.
//
// A Cluster may be used by several goroutines.
package kubernetes
