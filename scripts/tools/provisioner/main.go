// Command provisioner makes and removes local volumes: for each claim of its
// StorageClass a folder below --root, offered as a local PersistentVolume of this node.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// folders implements controller.Provisioner on one folder of one node.
type folders struct {
	root string
	node string
}

// Provision makes the claim's folder. Any user may write to it, as containers run
// as any user; who may mount it is decided by the claim.
func (f folders) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if mode := options.PVC.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		return nil, controller.ProvisioningFinished, fmt.Errorf("claim %s/%s asks for a block volume; this class has only file systems", options.PVC.Namespace, options.PVC.Name)
	}
	path := f.path(options.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return f.volume(options, path), controller.ProvisioningFinished, nil
}

// Delete removes the folder and all that is in it.
func (f folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	return os.RemoveAll(f.path(volume.Name))
}

func (f folders) path(volume string) string {
	return filepath.Join(f.root, filepath.Base(volume))
}

func (f folders) volume(options controller.ProvisionOptions, path string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: options.PVC.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: path},
			},
			NodeAffinity: f.onThisNode(),
		},
	}
}

func (f folders) onThisNode() *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key:      corev1.LabelHostname,
				Operator: corev1.NodeSelectorOpIn,
				Values:   []string{f.node},
			}},
		}},
	}}
}

func run() error {
	name := flag.String("name", "trainyard.dev/local", "the provisioner's name, as in the StorageClass")
	root := flag.String("root", "", "the folder that holds the volumes")
	node := flag.String("node", "", "the node that the volumes lie on")
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	controller.NewProvisionController(
		ctx, client, *name, folders{root: *root, node: *node},
		controller.LeaderElection(false),
	).Run(ctx)
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "provisioner: %s\n", err)
		os.Exit(1)
	}
}
