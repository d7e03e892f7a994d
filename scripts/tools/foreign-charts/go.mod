// The modules whose charts the harness is tried on. Nothing is built here: go.sum pins contents.
module trainyard/tools/foreign-charts

go 1.26.0

require (
	github.com/kubeflow/trainer/v2 v2.1.0
	sigs.k8s.io/jobset v0.10.1
	sigs.k8s.io/kueue v0.17.0
	sigs.k8s.io/metrics-server v0.9.0
)
