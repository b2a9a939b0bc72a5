// Command kubernetes is every Kubernetes program the embedded default needs
// (etcd included) in one binary: the name it was started by, or else the first
// argument, says which one to be. One link instead of five, and one copy of
// the shared packages on disk.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	name := filepath.Base(os.Args[0])
	switch name {
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl":
	default:
		if len(os.Args) < 2 {
			fmt.Fprintln(os.Stderr, "usage: kubernetes (etcd | kube-apiserver | kube-controller-manager | kube-scheduler | kubectl) [flags]")
			os.Exit(2)
		}
		name = os.Args[1]
		os.Args = append([]string{name}, os.Args[2:]...)
	}
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	default:
		fmt.Fprintf(os.Stderr, "unknown program %q\n", name)
		os.Exit(2)
	}
}
