{{/*
tf-cluster.check: what the schema cannot say: values that do not go together, names and sizes. All mistakes come in one message.
Takes: the root context.
Gives: nothing, or fails.
*/}}
{{- define "tf-cluster.check" -}}
{{- $messages := list (include "common.names.override" (dict "context" . "budget" (include "tf-cluster.budget" .))) -}}
{{- range list "plan" "ending" "code" "images" "resources" "hardware" "env" "labels" "volumes" "mounts" "sizes" "running" -}}
  {{- $messages = concat $messages (include (printf "tf-cluster.check.%s" .) $ | fromJsonArray) -}}
{{- end -}}
{{- include "common.errors.report" (dict "context" . "messages" $messages) -}}
{{- end -}}

{{/*
tf-cluster.check.plan: do mode, strategy, roles and queue go together?
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.plan" -}}
{{- $values := .Values -}}
{{- $messages := list -}}
{{- if and $values.nameOverride $values.fullnameOverride -}}
  {{- $messages = append $messages "nameOverride: beside fullnameOverride it would change labels alone, by which pods are found and which can never change; remove one of the two" -}}
{{- end -}}
{{- $role := $values.success.role | default "" -}}
{{- $workers := has $role (list "worker0" "allWorkers") -}}
{{- $present := include "tf-cluster.roles" . | fromJsonArray -}}
{{- range $absent := list "chief" "worker" "ps" -}}
  {{- if and (not (has $absent $present)) (gt (include "tf-cluster.gpus" (dict "context" $ "role" $absent) | int) 0) -}}
    {{- $messages = append $messages (printf "%s.gpu.count: there is no %s with mode %s and strategy %s; give GPUs to one of %s" $absent $absent $values.mode $values.strategy (join ", " $present)) -}}
  {{- end -}}
{{- end -}}
{{- if and (ne $values.strategy "tpu") (or $values.tpu.accelerator $values.tpu.topology) -}}
  {{- $messages = append $messages (printf "tpu: it would not be used, for strategy is %q; set strategy to tpu, or remove tpu.accelerator and tpu.topology" $values.strategy) -}}
{{- end -}}
{{- if and (eq ($values.service.ipFamilyPolicy | default "") "SingleStack") (gt (len ($values.service.ipFamilies | default list)) 1) -}}
  {{- $messages = append $messages "service.ipFamilyPolicy: SingleStack takes one of service.ipFamilies; name one, or set PreferDualStack" -}}
{{- end -}}
{{- $group := $values.podGroup -}}
{{- if and (eq $group.create "volcano") (not $values.schedulerName) -}}
  {{- $messages = append $messages "schedulerName: it is empty, and only Volcano's own scheduler knows the PodGroup that podGroup.create makes; set it to volcano" -}}
{{- end -}}
{{- if and $group.queue (ne $group.create "volcano") -}}
  {{- $messages = append $messages "podGroup.queue: it is for a PodGroup of Volcano's that the chart makes; set podGroup.create to volcano, or remove it (Kueue's queue is the value queue)" -}}
{{- end -}}
{{- if eq $values.mode "session" -}}
  {{- if $values.runPolicy.suspend -}}
    {{- $messages = append $messages "runPolicy.suspend: a session cannot be suspended; remove it and uninstall the release, or set mode to job" -}}
  {{- end -}}
  {{- range $limit := list "activeDeadlineSeconds" "ttlSecondsAfterFinished" -}}
    {{- if not (kindIs "invalid" (index $values.runPolicy $limit)) -}}
      {{- $messages = append $messages (printf "runPolicy.%s: it would end nothing, for a session ends with `helm uninstall` alone; remove it, or set mode to job" $limit) -}}
    {{- end -}}
  {{- end -}}
  {{- if ne $values.runPolicy.cleanPodPolicy "Running" -}}
    {{- $messages = append $messages (printf "runPolicy.cleanPodPolicy: it would clean nothing, for a session ends with `helm uninstall` alone; remove %q, or set mode to job" $values.runPolicy.cleanPodPolicy) -}}
  {{- end -}}
  {{- if eq $values.waiter.method "marker" -}}
    {{- $messages = append $messages "waiter.method: nobody waits for an end in a session; remove it, or set mode to job" -}}
  {{- end -}}
  {{- if eq $values.run.onChange "refuse" -}}
    {{- $messages = append $messages "run.onChange: a session has no runs, and its servers are replaced when they change; remove it, or set mode to job" -}}
  {{- end -}}
  {{- if ne $values.strategy "parameterServer" -}}
    {{- $messages = append $messages (printf "mode: a session's client drives workers and parameter servers, and strategy %q has none; set strategy to parameterServer, or mode to job" $values.strategy) -}}
  {{- end -}}
  {{- if gt (int $values.evaluator.replicas) 0 -}}
    {{- $messages = append $messages "evaluator.replicas: in a session the client evaluates; set it to 0, or mode to job" -}}
  {{- end -}}
  {{- if $role -}}
    {{- $messages = append $messages (printf "success.role: a session ends with `helm uninstall`, and %q decides nothing; remove it, or set mode to job" $role) -}}
  {{- end -}}
  {{- if $values.queue -}}
    {{- $messages = append $messages (printf "queue: Kueue lets nobody scale a StatefulSet, which a session's servers are; remove queue %q, or set mode to job" $values.queue) -}}
  {{- end -}}
{{- else -}}
  {{- if and (eq $values.strategy "mirrored") $workers -}}
    {{- $messages = append $messages (printf "success.role: strategy mirrored has a chief alone, and no %s; remove it" $role) -}}
  {{- end -}}
  {{- if and (has $values.strategy (list "multiWorkerMirrored" "tpu")) (eq $role "chief") -}}
    {{- $messages = append $messages (printf "success.role: strategy %s has no chief of its own; set worker0, which is its chief, or allWorkers" $values.strategy) -}}
  {{- end -}}
  {{- if and (eq $role "worker0") (semverCompare "<1.31-0" .Capabilities.KubeVersion.Version) -}}
    {{- $messages = append $messages (printf "success.role: worker0 needs a Job's successPolicy, of Kubernetes 1.31 or later, and this cluster has %s; set allWorkers" .Capabilities.KubeVersion.Version) -}}
  {{- end -}}
  {{- if and $values.queue $values.runPolicy.suspend -}}
    {{- $messages = append $messages "runPolicy.suspend: Kueue starts and stops the Jobs of a queue itself; hold its Workloads (spec.active: false), or remove queue" -}}
  {{- end -}}
  {{- if and (eq (include "tf-cluster.leadRole" .) "worker") (eq $values.run.onScale "keep") -}}
    {{- $messages = append $messages "run.onScale: keep is for a chief; workers that decide together all need the same list; set it to restart" -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.ending: does everybody learn of the end, and reach what it needs?
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.ending" -}}
{{- $values := .Values -}}
{{- $messages := list -}}
{{- $retryable := include "common.jobs.exitCodes" $values.runPolicy.exitCodes.retryable | fromJsonArray -}}
{{- range $code := include "common.jobs.exitCodes" $values.runPolicy.exitCodes.permanent | fromJsonArray -}}
  {{- if has $code $retryable -}}
    {{- $messages = append $messages (printf "runPolicy.exitCodes: %d cannot be both permanent and retryable; remove it from one list" (int $code)) -}}
  {{- end -}}
{{- end -}}
{{- $egress := $values.networkPolicy.egress -}}
{{- if include "tf-cluster.asksApi" . -}}
  {{- $waiting := include "tf-cluster.waiting" . | fromJsonArray -}}
  {{- $marker := ternary "" ", or set waiter.method to marker" (or (eq $values.strategy "mirrored") (and (eq (include "tf-cluster.lead" .) "allWorkers") (has "ps" $waiting))) -}}
  {{- if and $waiting $values.networkPolicy.enabled $egress.restricted (not $egress.apiServerPorts) (not $egress.to) -}}
    {{- $messages = append $messages (printf "networkPolicy.egress.apiServerPorts: %s learn the end from the API server, and nothing may go out to it; name its ports, or add a rule to networkPolicy.egress.to%s" (join ", " $waiting) $marker) -}}
  {{- end -}}
  {{- if and (not $values.rbac.create) $values.serviceAccount.create -}}
    {{- $messages = append $messages (printf "rbac.create: is false, and the account that serviceAccount.create makes may not `get` the deciding Job; name one that may (serviceAccount.create false, serviceAccount.name), or set rbac.create to true%s" $marker) -}}
  {{- end -}}
{{- end -}}
{{- if and $values.networkPolicy.enabled $egress.restricted (not $egress.to) -}}
  {{- if eq $values.code.source "git" -}}
    {{- $messages = append $messages "networkPolicy.egress.to: code.source is git, and nothing may go out to the repository; add a rule for it" -}}
  {{- else if and (eq $values.code.source "sample") (eq $values.sample.dataset "download") -}}
    {{- $messages = append $messages "networkPolicy.egress.to: sample.dataset is download, and nothing may go out to the Internet; add a rule for it, or use another dataset" -}}
  {{- else if and (eq $values.code.source "sample") (eq $values.sample.dataset "auto") (eq $values.image.repository "tensorflow/tensorflow") -}}
    {{- $messages = append $messages "networkPolicy.egress.to: the public image holds no digits, and nothing may go out to the Internet for them; add a rule for it, or set sample.dataset to what your image or volumes.data holds" -}}
  {{- end -}}
{{- end -}}
{{- if include "tf-cluster.byMarker" . -}}
  {{- if eq (include "common.volumes.kind" $values.volumes.checkpoints) "emptyDir" -}}
    {{- $messages = append $messages "waiter.method: the marker lies on volumes.checkpoints, which is off, so that the others would never see it; enable the volume, or set the method to api" -}}
  {{- end -}}
  {{- $lead := include "tf-cluster.leadRole" . -}}
  {{- if not (has $lead (include "tf-cluster.mountedBy" (dict "context" . "name" "checkpoints") | fromJsonArray)) -}}
    {{- $messages = append $messages (printf "volumes.checkpoints.roles: with waiter.method marker the %s leaves its marker there; add %q" $lead $lead) -}}
  {{- end -}}
  {{- if and (eq (int64 $values.runPolicy.startDeadlineSeconds) 0) (not $values.waiter.silenceSeconds) -}}
    {{- $messages = append $messages "waiter.silenceSeconds: with method marker and runPolicy.startDeadlineSeconds 0 nobody can tell a chief that waits from one that has failed; set it" -}}
  {{- end -}}
  {{- if eq $values.strategy "mirrored" -}}
    {{- $messages = append $messages "waiter.method: with marker the others listen whether the deciding task lives, and a mirrored one opens no port; set it to api" -}}
  {{- end -}}
  {{- if and (has "ps" (include "tf-cluster.roles" . | fromJsonArray)) (eq (include "tf-cluster.lead" .) "allWorkers") -}}
    {{- $messages = append $messages "waiter.method: with marker one task decides, and success.role is allWorkers; set it to worker0, or the method to api" -}}
  {{- end -}}
  {{- if and (ne $values.code.source "sample") (not (include "tf-cluster.role" (dict "context" . "role" $lead) | fromJson).command) -}}
    {{- $messages = append $messages (printf "waiter.method: marker starts the program by a wrapper, which must know it; set `command` or `%s.command`" $lead) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.code: a program must come from somewhere.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.code" -}}
{{- $code := .Values.code -}}
{{- $sample := .Values.sample -}}
{{- $messages := include "common.code.check" (dict "code" $code) | fromJsonArray -}}
{{- if ne $code.source "sample" -}}
  {{- $without := list -}}
  {{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
    {{- $settings := include "tf-cluster.role" (dict "context" $ "role" $role) | fromJson -}}
    {{- if and (not $settings.command) (kindIs "invalid" $settings.args) -}}
      {{- $without = append $without $role -}}
    {{- end -}}
  {{- end -}}
  {{- with $without -}}
    {{- $messages = append $messages (printf "code.source: %q needs to know what to run, and there is neither command nor args for %s; set `command` (for all roles) or `<role>.command`, or args to [] where the image's entrypoint knows" $code.source (join ", " .)) -}}
  {{- end -}}
{{- else -}}
  {{- if and (eq $sample.dataset "idx") (not $sample.dataDir) (not .Values.volumes.data.enabled) -}}
    {{- $messages = append $messages "sample.dataset: \"idx\" needs a folder of files; enable volumes.data with existingClaim, or set sample.dataDir to a folder of the image" -}}
  {{- end -}}
  {{- $lead := include "tf-cluster.leadRole" . -}}
  {{- $roles := include "tf-cluster.roles" . | fromJsonArray -}}
  {{- range $name := list "checkpoints" "logs" "models" -}}
    {{- if and (has $lead $roles) (not (has $lead (include "tf-cluster.mountedBy" (dict "context" $ "name" $name) | fromJsonArray))) -}}
      {{- $messages = append $messages (printf "volumes.%s.roles: the sample's %s writes there; add %q" $name $lead $lead) -}}
    {{- end -}}
  {{- end -}}
  {{- if and (eq $sample.updates "sync") (or (ne .Values.strategy "parameterServer") (ne $sample.program "train")) -}}
    {{- $messages = append $messages "sample.updates: sync is a way of strategy parameterServer with sample.program train, and would not be used; remove it" -}}
  {{- end -}}
  {{- if eq .Values.strategy "tpu" -}}
    {{- $messages = append $messages "code.source: the sample program knows no TPU; bring a program of your own, with code.source image, inline, configMap, claim or git" -}}
  {{- end -}}
  {{- if and (eq $sample.program "train_v1") (ne .Values.strategy "parameterServer") -}}
    {{- $messages = append $messages (printf "sample.program: train_v1 is written for strategy parameterServer, not %s; set it to train" .Values.strategy) -}}
  {{- end -}}
  {{- if and (eq $sample.program "train") (eq .Values.strategy "parameterServer") (eq (include "tf-cluster.leadRole" .) "worker") -}}
    {{- $messages = append $messages (printf "success.role: with %q the workers end by themselves, and those of sample.program train never do; set sample.program to train_v1, or remove success.role" .Values.success.role) -}}
  {{- end -}}
  {{- if and (gt (int .Values.evaluator.replicas) 0) (eq (include "common.volumes.kind" .Values.volumes.checkpoints) "emptyDir") -}}
    {{- $messages = append $messages "evaluator.replicas: the evaluator reads checkpoints, and volumes.checkpoints is off; enable the volume, or set evaluator.replicas to 0" -}}
  {{- end -}}
  {{- if and (gt (int .Values.evaluator.replicas) 0) (eq $sample.program "train_v1") -}}
    {{- $messages = append $messages "evaluator.replicas: the sample's evaluator cannot read checkpoints of train_v1; set it to 0, or sample.program to train" -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.images: an image's registry and its repository are two values.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.images" -}}
{{- $values := .Values -}}
{{- $messages := list -}}
{{- range $path, $image := dict "image" $values.image "chief.image" $values.chief.image "worker.image" $values.worker.image "ps.image" $values.ps.image "evaluator.image" $values.evaluator.image "code.git.image" $values.code.git.image "waiter.image" $values.waiter.image -}}
  {{- $messages = concat $messages (include "common.images.check" (dict "image" $image "path" $path) | fromJsonArray) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.resources: requests within limits, for every container, and a /dev/shm within the memory of its container.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.resources" -}}
{{- $values := .Values -}}
{{- $messages := list -}}
{{- $common := dict "path" "resources" "resources" $values.resources -}}
{{- $waiter := dict "path" "waiter.resources" "resources" $values.waiter.resources -}}
{{- $test := dict "path" "test.resources" "resources" $values.test.resources -}}
{{- $clone := dict "path" "code.git.resources" "resources" $values.code.git.resources -}}
{{- $containers := list (list $common $test) (list $waiter) (list $clone) -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
  {{- $layers := list $common (dict "path" (printf "%s.resources" $role) "resources" (index $values $role "resources")) -}}
  {{- $containers = append $containers $layers -}}
  {{- if include "tf-cluster.sharesMemory" (dict "context" $ "role" $role) -}}
    {{- $limit := include "common.resources.amount" (dict "layers" $layers "part" "limits" "name" "memory") | fromJson -}}
    {{- $size := $values.sharedMemory.size -}}
    {{- if and $limit (gt (include "common.quantity.number" $size | float64) (include "common.quantity.number" $limit.amount | float64)) -}}
      {{- $messages = append $messages (printf "sharedMemory.size: %s is more than %s.limits.memory, %s, against which /dev/shm counts; raise %s.resources.limits.memory above it, or lower the size" $size $limit.path $limit.amount $role) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range $layers := $containers -}}
  {{- $messages = concat $messages (include "common.resources.check" (dict "layers" $layers "except" $values.gpu.resource) | fromJsonArray) -}}
{{- end -}}
{{- uniq $messages | toJson -}}
{{- end -}}

{{/*
tf-cluster.check.hardware: accelerators and the nodes' network.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.hardware" -}}
{{- $values := .Values -}}
{{- $messages := list -}}
{{- $counts := list -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
  {{- $count := printf "%s.gpu.count" $role -}}
  {{- $counts = append $counts $count -}}
  {{- $messages = concat $messages (include "common.gpu.check" (dict "resources" (index $values $role "resources") "path" (printf "%s.resources" $role) "gpu" $values.gpu "counts" (list $count)) | fromJsonArray) -}}
{{- end -}}
{{- $messages = concat $messages (include "common.gpu.check" (dict "resources" $values.resources "path" "resources" "gpu" $values.gpu "counts" $counts) | fromJsonArray) -}}
{{- $messages = concat $messages (include "common.gpu.nccl" (dict "nccl" ($values.nccl | default dict) "path" "nccl") | fromJsonArray) -}}
{{- if eq $values.strategy "tpu" -}}
  {{- range $key := list "accelerator" "topology" -}}
    {{- if not (index $values.tpu $key) -}}
      {{- $messages = append $messages (printf "tpu.%s: is empty, and strategy is tpu; see the node labels cloud.google.com/gke-tpu-%s of your node pool" $key $key) -}}
    {{- end -}}
  {{- end -}}
  {{- if gt (int $values.worker.gpu.count) 0 -}}
    {{- $messages = append $messages "worker.gpu.count: strategy tpu uses TPUs; set it to 0, or choose another strategy" -}}
  {{- end -}}
  {{- if $values.tpu.topology -}}
    {{- $all := 1 -}}
    {{- range splitList "x" $values.tpu.topology -}}
      {{- $all = mul $all (int64 .) -}}
    {{- end -}}
    {{- $hosts := div $all (int64 $values.tpu.chips) -}}
    {{- if ne (mul $hosts (int64 $values.tpu.chips)) $all -}}
      {{- $messages = append $messages (printf "tpu.chips: a slice of %s has %d chips, which %d a host does not divide; see how many your machine type has" $values.tpu.topology $all (int64 $values.tpu.chips)) -}}
    {{- else if ne $hosts (int64 $values.worker.replicas) -}}
      {{- $messages = append $messages (printf "worker.replicas: a slice of %s has %d chips, %d a host; set worker.replicas to %d" $values.tpu.topology $all (int64 $values.tpu.chips) $hosts) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $values.hostNetwork -}}
  {{- $users := dict -}}
  {{- range $role := include "tf-cluster.clusterRoles" . | fromJsonArray -}}
    {{- $port := include "tf-cluster.port" (dict "context" $ "role" $role) -}}
    {{- if hasKey $users $port -}}
      {{- $messages = append $messages (printf "%s.port: on the nodes' network %s is taken by %s; choose another" $role $port (get $users $port)) -}}
    {{- end -}}
    {{- $_ := set $users $port $role -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.env: TF_CONFIG is the chart's work, and a variable has one value.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.env" -}}
{{- $reserved := include "tf-cluster.reserved" . | fromJsonArray -}}
{{- $messages := list -}}
{{- range $path, $env := dict "env" .Values.env "chief.env" .Values.chief.env "worker.env" .Values.worker.env "ps.env" .Values.ps.env "evaluator.env" .Values.evaluator.env -}}
  {{- $messages = concat $messages (include "common.env.reserved" (dict "env" $env "path" $path "reserved" $reserved "why" "each task's place in the cluster is made of it") | fromJsonArray) -}}
  {{- $messages = concat $messages (include "common.env.twofold" (dict "env" $env "path" $path) | fromJsonArray) -}}
{{- end -}}
{{- $messages = concat $messages (include "common.env.twofold" (dict "env" .Values.code.git.env "path" "code.git.env") | fromJsonArray) -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.labels: pods must stay with their Job and their Service, and Kueue must find what is meant for it.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.labels" -}}
{{- $messages := include "common.labels.reservedOnObjects" (dict "user" .Values.commonLabels "path" "commonLabels" "instead" (dict "kueue.x-k8s.io/queue-name" "queue")) | fromJsonArray -}}
{{- range $path, $labels := dict "podLabels" .Values.podLabels "chief.podLabels" .Values.chief.podLabels "worker.podLabels" .Values.worker.podLabels "ps.podLabels" .Values.ps.podLabels "evaluator.podLabels" .Values.evaluator.podLabels -}}
  {{- $messages = concat $messages (include "common.labels.reserved" (dict "user" $labels "path" $path "reserved" (list "trainyard/cluster-member" "kueue.x-k8s.io/queue-name")) | fromJsonArray) -}}
  {{- range $key := list "kueue.x-k8s.io/priority-class" "kueue.x-k8s.io/max-exec-time-seconds" -}}
    {{- if hasKey ($labels | default dict) $key -}}
      {{- $messages = append $messages (printf "%s: Kueue reads the label %q of Jobs, not of pods; move it to commonLabels" $path $key) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.volumes: the volumes shorthand.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.volumes" -}}
{{- $messages := list -}}
{{- $defaults := (include "tf-cluster.defaults" . | fromYaml).volumes -}}
{{- range $name := list "checkpoints" "logs" "models" "data" -}}
  {{- $volume := include "tf-cluster.volume" (dict "context" $ "name" $name) | fromJson -}}
  {{- $messages = concat $messages (include "common.volumes.check" $volume | fromJsonArray) -}}
  {{- if ne $name "data" -}}
    {{- $messages = concat $messages (include "common.volumes.checkClaim" (merge (dict "context" $ "defaults" (index $defaults $name)) $volume) | fromJsonArray) -}}
  {{- end -}}
  {{- /* Nobody of a release reads another's logs, and data may lie on every node; but checkpoints are what a gang goes on from, */ -}}
  {{- /* and an evaluator and waiters read, and models are what the test and whoever takes them look for, whoever wrote them. */ -}}
  {{- if has $name (list "checkpoints" "models") -}}
    {{- $messages = concat $messages (include "common.volumes.checkShared" $volume | fromJsonArray) -}}
  {{- end -}}
{{- end -}}
{{- $data := .Values.volumes.data -}}
{{- if and (eq (include "common.volumes.kind" $data) "claim") (not $data.existingClaim) -}}
  {{- $messages = append $messages "volumes.data.existingClaim: is empty, and a new volume would hold no data; name the claim that holds them, or set nfs, csi or hostPath" -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.mounts: volumes have one name each and mounts one path each, and a mount has its volume.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.mounts" -}}
{{- $messages := list -}}
{{- $names := list "code" "programs" "api-access" "cluster" "shared-memory" "checkpoints" "logs" "models" "data" -}}
{{- $paths := dict
      "/etc/trainyard/cluster" "the cluster spec"
      "/opt/trainyard/bin" "the chart's own programs"
      "/var/run/secrets/kubernetes.io/serviceaccount" "the service account" -}}
{{- range $role := include "tf-cluster.roles" . | fromJsonArray -}}
  {{- if include "tf-cluster.sharesMemory" (dict "context" $ "role" $role) -}}
    {{- $_ := set $paths "/dev/shm" "sharedMemory" -}}
  {{- end -}}
{{- end -}}
{{- with include "tf-cluster.codeMountPath" . -}}
  {{- $path := trimSuffix "/" . -}}
  {{- if hasKey $paths $path -}}
    {{- $messages = append $messages (printf "code.mountPath: %q is taken by %s; choose another" $path (get $paths $path)) -}}
  {{- end -}}
  {{- $_ := set $paths $path "the training program" -}}
{{- end -}}
{{- range $name := list "checkpoints" "logs" "models" "data" -}}
  {{- if include "tf-cluster.mountedBy" (dict "context" $ "name" $name) | fromJsonArray -}}
    {{- $path := index $.Values.volumes $name "mountPath" | trimSuffix "/" -}}
    {{- if hasKey $paths $path -}}
      {{- $messages = append $messages (printf "volumes.%s.mountPath: %q is taken by %s; choose another" $name $path (get $paths $path)) -}}
    {{- end -}}
    {{- $_ := set $paths $path (printf "volumes.%s" $name) -}}
  {{- end -}}
{{- end -}}
{{- $extra := list -}}
{{- range .Values.extraVolumes -}}
  {{- if or (has .name $names) (has .name $extra) -}}
    {{- $messages = append $messages (printf "extraVolumes: the name %q is taken; choose another" .name) -}}
  {{- end -}}
  {{- $extra = append $extra .name -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
  {{- if not (has .name $extra) -}}
    {{- $messages = append $messages (printf "extraVolumeMounts: there is no volume %q in extraVolumes; add it, or remove the mount" .name) -}}
  {{- end -}}
  {{- $path := trimSuffix "/" .mountPath -}}
  {{- if hasKey $paths $path -}}
    {{- $messages = append $messages (printf "extraVolumeMounts: the path %q is taken by %s; choose another" $path (get $paths $path)) -}}
  {{- end -}}
  {{- $_ := set $paths $path (printf "extraVolumeMounts (%s)" .name) -}}
{{- end -}}
{{- $seen := list -}}
{{- range .Values.code.git.extraVolumeMounts -}}
  {{- if not (has .name $extra) -}}
    {{- $messages = append $messages (printf "code.git.extraVolumeMounts: there is no volume %q in extraVolumes; add it, or remove the mount" .name) -}}
  {{- end -}}
  {{- $path := trimSuffix "/" .mountPath -}}
  {{- if or (has $path $seen) (hasPrefix "/code/" (printf "%s/" $path)) -}}
    {{- $messages = append $messages (printf "code.git.extraVolumeMounts: the path %q is taken by %s; choose another" $path (ternary "another mount" "the clone" (has $path $seen))) -}}
  {{- end -}}
  {{- $seen = append $seen $path -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.sizes: what Linux and Kubernetes can hold.
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.sizes" -}}
{{- $messages := list -}}
{{- $tasks := include "tf-cluster.tasks" (dict "context" . "roles" (include "tf-cluster.clusterRoles" . | fromJsonArray)) | int -}}
{{- $size := include "tf-cluster.configSize" . | int -}}
{{- if and (include "tf-cluster.hasConfig" .) (gt $size 131072) -}}
  {{- $each := div $size $tasks -}}
  {{- $messages = append $messages (printf "TF_CONFIG: the environment variable would have up to %d bytes, and Linux starts no program with one of more than 131072; %d tasks at about %d bytes each are asked for, and about %d fit: ask for fewer (worker.replicas, ps.replicas), shorten the addresses (release name, namespace, clusterDomain: \"\"), or set tfConfig to false and let the program read TRAINYARD_CLUSTER_FILE" $size $tasks $each (div 130900 $each)) -}}
{{- end -}}
{{- if eq .Values.strategy "tpu" -}}
  {{- $workers := int64 .Values.worker.replicas -}}
  {{- $size = add 1 (len "TPU_WORKER_HOSTNAMES=") (include "tf-cluster.hosts" . | len) -}}
  {{- if gt $size 131072 -}}
    {{- $each := div $size $workers -}}
    {{- $messages = append $messages (printf "TPU_WORKER_HOSTNAMES: the environment variable would have %d bytes, and Linux starts no program with one of more than 131072; %d hosts at about %d bytes each are asked for, and about %d fit: shorten the addresses (release name, namespace, clusterDomain: \"\"), or take a smaller slice (tpu.topology, worker.replicas)" $size $workers $each (div 130900 $each)) -}}
  {{- end -}}
{{- end -}}
{{- $files := dict -}}
{{- range $path, $text := .Files.Glob "samples/mnist/*.py" -}}
  {{- $_ := set $files $path (toString $text) -}}
{{- end -}}
{{- $sample := dict "name" "the ConfigMap of samples/mnist" "data" $files "remedy" "take large files out of the chart's samples/mnist, or set code.source to \"image\"" -}}
{{- /* A release with 10000 workers takes 325048 bytes of the Secret without inline text (a test measures it), and 3/8 of what is
       left are a little more than this. It is less than a ConfigMap can hold. */ -}}
{{- $inline := dict "name" "code.inline: its text" "data" .Values.code.inline "budget" 262144 "remedy" "set code.source to \"configMap\", \"claim\", \"git\" or \"image\", and put the program there" -}}
{{- $messages = append $messages (include "common.errors.releaseSize" $inline) -}}
{{- $spec := dict "name" "the ConfigMap of the cluster spec" "data" (dict "cluster" (include "tf-cluster.spec" .)) "remedy" "ask for fewer tasks (worker.replicas, ps.replicas)" -}}
{{- $maps := list $spec -}}
{{- if eq .Values.code.source "sample" -}}
  {{- $maps = append $maps $sample -}}
{{- end -}}
{{- range $maps -}}
  {{- $messages = append $messages (include "common.errors.configMapSize" .) -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}

{{/*
tf-cluster.check.running: what the cluster already has, where Helm can look (not in `helm template`).
Takes: the root context.
Gives: JSON, a list of messages.
*/}}
{{- define "tf-cluster.check.running" -}}
{{- $messages := list -}}
{{- range $name := list "checkpoints" "logs" "models" -}}
  {{- $volume := include "tf-cluster.volume" (dict "context" $ "name" $name) | fromJson -}}
  {{- $messages = append $messages (include "common.volumes.lost" (merge (dict "context" $) $volume)) -}}
{{- end -}}
{{- range $name := list "checkpoints" "logs" "models" "data" -}}
  {{- $volume := include "tf-cluster.volume" (dict "context" $ "name" $name) | fromJson -}}
  {{- if and (eq (include "common.volumes.kind" $volume.volume) "claim") $volume.volume.existingClaim -}}
    {{- $path := printf "volumes.%s" $name -}}
    {{- $remedy := printf "name another claim with %s.existingClaim, or fewer roles with %s.roles" $path $path -}}
    {{- $claim := dict "context" $ "path" $path "claim" $volume.volume.existingClaim "pods" $volume.pods "readOnly" (eq $name "data") "remedy" $remedy -}}
    {{- $messages = concat $messages (include "common.volumes.checkModes" $claim | fromJsonArray) -}}
  {{- end -}}
{{- end -}}
{{- if and (eq .Values.code.source "claim") .Values.code.claim.name -}}
  {{- $pods := include "tf-cluster.tasks" (dict "context" . "roles" (include "tf-cluster.roles" . | fromJsonArray)) -}}
  {{- $claim := dict "context" . "path" "code.claim.name" "claim" .Values.code.claim.name "pods" $pods "readOnly" true "remedy" "name another claim, or bring the program another way (code.source)" -}}
  {{- $messages = concat $messages (include "common.volumes.checkModes" $claim | fromJsonArray) -}}
{{- end -}}
{{- if eq .Values.mode "session" -}}
  {{- range $role := list "worker" "ps" -}}
    {{- $scope := dict "context" $ "role" $role -}}
    {{- $set := lookup "apps/v1" "StatefulSet" $.Release.Namespace (include "tf-cluster.workloadName" $scope) -}}
    {{- $messages = append $messages (include "common.scale.conflict" (dict "object" $set "replicas" (include "tf-cluster.replicas" $scope) "value" (printf "%s.replicas" $role))) -}}
  {{- end -}}
{{- else if eq .Values.run.onChange "refuse" -}}
  {{- $new := include "tf-cluster.leadJob" . -}}
  {{- $labels := include "common.labels.selector" (dict "context" . "component" (include "tf-cluster.leadRole" .)) | fromYaml -}}
  {{- range $job := without (include "common.jobs.named" (dict "namespace" .Release.Namespace "labels" $labels "ended" false) | fromJsonArray) $new -}}
    {{- $messages = append $messages (printf "run.onChange: these values would end the run of Job %s, which has not ended, and start %s; undo the change, wait, or let it happen with --set run.onChange=restart" $job $new) -}}
  {{- end -}}
{{- end -}}
{{- toJson $messages -}}
{{- end -}}
