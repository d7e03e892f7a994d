// Command netpol enforces NetworkPolicies on one node. It is kube-router's firewall alone:
// its proxy and its routing are not compiled in, as kube-proxy and the CNI do their work.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// lookEvery is the pause between two looks for what is not there yet.
const lookEvery = 100 * time.Millisecond

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the kubeconfig file of the cluster")
	node := flag.String("node", "", "the name of this node")
	services := flag.String("service-cluster-ip-range", "", "the network of Services' addresses")
	flag.Parse()
	if err := enforce(*kubeconfig, *node, *services); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// enforce keeps the node's firewall as the policies say, until the process is ended.
func enforce(kubeconfig, node, services string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := await(client, node); err != nil {
		return err
	}
	settings := options.NewKubeRouterConfig()
	settings.EnableIPv4 = true
	settings.HostnameOverride = node
	settings.ClusterIPCIDRs = []string{services}
	tables, sets, err := netpol.NewIPTablesHandlers(settings)
	if err != nil {
		return err
	}

	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	firewall, err := netpol.NewNetworkPolicyController(
		client, settings, pods, policies, namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		pods:       firewall.PodEventHandler,
		policies:   firewall.NetworkPolicyEventHandler,
		namespaces: firewall.NamespaceEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}

	forever := make(chan struct{})
	factory.Start(forever)
	factory.WaitForCacheSync(forever)
	var done sync.WaitGroup
	done.Add(1)
	firewall.Run(unheard(), forever, &done)
	return nil
}

// await returns when the node is registered and may be read, which is after this program's
// start: kubelet starts beside it, and its role is made by whoever started the node.
func await(client kubernetes.Interface, node string) error {
	registered := func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return err == nil, nil
	}
	return wait.PollUntilContextCancel(context.Background(), lookEvery, true, registered)
}

// unheard takes heartbeats and drops them: where the firewall fails it ends the process,
// which the node starts again.
func unheard() chan<- *healthcheck.ControllerHeartbeat {
	heartbeats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		for range heartbeats {
		}
	}()
	return heartbeats
}
