//! The fields of a pod, as the API reference of Kubernetes 1.36 lists them: a line for each type.
//!
//! A field is `name:type`, followed by `!` if the field is required. The types of values are `text`, `bool`, `whole` (a
//! number that is not negative), `positive`, `number`, `port` (a number or a name), `any` (not checked), `quantity`,
//! words with `|` between them, `[x]` (a list), `{x}` (a map), and the types of this table. Fields that have nothing to
//! do with probes and the lifecycle are `any`: the dry run of the API server checks them.

/// The name of a type, what it is called in a sentence, and its fields.
pub(super) type Fields = (&'static str, &'static str, &'static str);

/// All types.
pub(super) const TYPES: &[Fields] = &[
    ("pod", "a pod", "apiVersion:text kind:text metadata:metadata spec:spec! status:any"),
    ("template", "a template", "metadata:metadata spec:spec!"),
    (
        "metadata",
        "metadata",
        "annotations:{text} creationTimestamp:any deletionGracePeriodSeconds:whole deletionTimestamp:any finalizers:[text] \
         generateName:text generation:any labels:{text} managedFields:any name:text namespace:text ownerReferences:any \
         resourceVersion:text selfLink:any uid:text",
    ),
    (
        "spec",
        "a pod's spec",
        "activeDeadlineSeconds:positive affinity:any automountServiceAccountToken:bool containers:[container] dnsConfig:any \
         dnsPolicy:ClusterFirst|ClusterFirstWithHostNet|Default|None enableServiceLinks:bool ephemeralContainers:any \
         hostAliases:any hostIPC:bool hostNetwork:bool hostPID:bool hostUsers:bool hostname:text hostnameOverride:text \
         imagePullSecrets:any initContainers:[container] nodeName:text nodeSelector:{text} os:any overhead:any \
         preemptionPolicy:text priority:number priorityClassName:text readinessGates:[gate] resourceClaims:any \
         resources:resources restartPolicy:Always|OnFailure|Never runtimeClassName:text schedulerName:text \
         schedulingGates:any schedulingGroup:any securityContext:pod-security serviceAccount:text \
         serviceAccountName:text setHostnameAsFQDN:bool shareProcessNamespace:bool subdomain:text \
         terminationGracePeriodSeconds:whole tolerations:[toleration] topologySpreadConstraints:any volumes:[volume] \
         workloadRef:any",
    ),
    (
        "container",
        "a container",
        "args:[text] command:[text] env:[variable] envFrom:any image:text imagePullPolicy:Always|IfNotPresent|Never \
         lifecycle:lifecycle livenessProbe:probe name:text! ports:[container-port] readinessProbe:probe resizePolicy:any \
         resources:resources restartPolicy:Always|OnFailure|Never restartPolicyRules:any securityContext:security \
         startupProbe:probe stdin:bool stdinOnce:bool terminationMessagePath:text \
         terminationMessagePolicy:File|FallbackToLogsOnError tty:bool volumeDevices:any volumeMounts:[mount] \
         workingDir:text",
    ),
    (
        "ephemeral",
        "an ephemeral container",
        "args:[text] command:[text] env:[variable] envFrom:any image:text imagePullPolicy:Always|IfNotPresent|Never \
         name:text! securityContext:security stdin:bool stdinOnce:bool targetContainerName:text \
         terminationMessagePath:text terminationMessagePolicy:File|FallbackToLogsOnError tty:bool volumeDevices:any \
         volumeMounts:[mount] workingDir:text",
    ),
    (
        "probe",
        "a probe",
        "exec:command failureThreshold:whole grpc:grpc httpGet:http initialDelaySeconds:whole periodSeconds:whole \
         successThreshold:whole tcpSocket:tcp terminationGracePeriodSeconds:positive timeoutSeconds:whole",
    ),
    ("lifecycle", "a lifecycle", "postStart:hook preStop:hook stopSignal:signal"),
    ("hook", "a hook", "exec:command httpGet:http sleep:sleep tcpSocket:tcp"),
    ("command", "an `exec`", "command:[text]!"),
    ("http", "an `httpGet`", "host:text httpHeaders:[header] path:text port:port! scheme:HTTP|HTTPS"),
    ("header", "a header", "name:text! value:text"),
    ("tcp", "a `tcpSocket`", "host:text port:port!"),
    ("grpc", "a `grpc` probe", "port:port-number! service:text"),
    ("sleep", "a `sleep`", "seconds:whole!"),
    (
        "container-port",
        "a port",
        "containerPort:port-number! hostIP:text hostPort:port-number name:text protocol:TCP|UDP|SCTP",
    ),
    ("variable", "a variable", "name:text! value:text valueFrom:any"),
    ("resources", "`resources`", "claims:any limits:{quantity} requests:{quantity}"),
    (
        "mount",
        "a volume's mount",
        "mountPath:text! mountPropagation:text name:text! readOnly:bool recursiveReadOnly:text subPath:text \
         subPathExpr:text",
    ),
    (
        "volume",
        "a volume",
        "awsElasticBlockStore:any azureDisk:any azureFile:any cephfs:any cinder:any configMap:any csi:any downwardAPI:any \
         emptyDir:any ephemeral:any fc:any flexVolume:any flocker:any gcePersistentDisk:any gitRepo:any glusterfs:any \
         hostPath:any image:any iscsi:any name:text! nfs:any persistentVolumeClaim:any photonPersistentDisk:any \
         portworxVolume:any projected:any quobyte:any rbd:any scaleIO:any secret:any storageos:any vsphereVolume:any",
    ),
    ("gate", "a readiness gate", "conditionType:text!"),
    ("toleration", "a toleration", "effect:text key:text operator:text tolerationSeconds:number value:text"),
    (
        "security",
        "a container's securityContext",
        "allowPrivilegeEscalation:bool appArmorProfile:any capabilities:any privileged:bool procMount:text \
         readOnlyRootFilesystem:bool runAsGroup:whole runAsNonRoot:bool runAsUser:whole seLinuxOptions:any \
         seccompProfile:any windowsOptions:any",
    ),
    (
        "pod-security",
        "a pod's securityContext",
        "appArmorProfile:any fsGroup:whole fsGroupChangePolicy:text runAsGroup:whole runAsNonRoot:bool runAsUser:whole \
         seLinuxChangePolicy:text seLinuxOptions:any seccompProfile:any supplementalGroups:any \
         supplementalGroupsPolicy:text sysctls:any windowsOptions:any",
    ),
    (
        "Deployment",
        "a Deployment's spec",
        "minReadySeconds:whole paused:bool progressDeadlineSeconds:whole replicas:whole revisionHistoryLimit:whole \
         selector:any strategy:any template:template!",
    ),
    (
        "StatefulSet",
        "a StatefulSet's spec",
        "minReadySeconds:whole ordinals:any persistentVolumeClaimRetentionPolicy:any podManagementPolicy:text \
         replicas:whole revisionHistoryLimit:whole selector:any serviceName:text template:template! updateStrategy:any \
         volumeClaimTemplates:any",
    ),
    (
        "DaemonSet",
        "a DaemonSet's spec",
        "minReadySeconds:whole revisionHistoryLimit:whole selector:any template:template! updateStrategy:any",
    ),
    (
        "Job",
        "a Job's spec",
        "activeDeadlineSeconds:whole backoffLimit:whole backoffLimitPerIndex:whole completionMode:text completions:whole \
         managedBy:text manualSelector:bool maxFailedIndexes:whole parallelism:whole podFailurePolicy:any \
         podReplacementPolicy:text selector:any successPolicy:any suspend:bool template:template! \
         ttlSecondsAfterFinished:whole",
    ),
];

/// The name, the words and the fields of a type.
pub(super) fn of(name: &str) -> Option<&'static Fields> {
    TYPES.iter().find(|(known, ..)| *known == name)
}

/// The fields of a type, each with its type and whether it is required.
pub(super) fn listed(fields: &'static str) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    fields.split_whitespace().filter_map(|field| {
        let (name, kind) = field.split_once(':')?;
        Some((name, kind.trim_end_matches('!'), kind.ends_with('!')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_a_field_names_is_in_the_table() {
        let plain = [
            "text",
            "bool",
            "whole",
            "positive",
            "number",
            "port",
            "port-number",
            "signal",
            "quantity",
            "any",
        ];
        for (name, _, fields) in TYPES {
            for (field, kind, _) in listed(fields) {
                let inner = kind.trim_matches(['[', ']', '{', '}']);
                let known = plain.contains(&inner) || inner.contains('|') || of(inner).is_some();
                assert!(known, "{name}.{field} is a {inner}");
            }
            assert_eq!(fields.split_whitespace().count(), listed(fields).count(), "{name}");
        }
    }
}
