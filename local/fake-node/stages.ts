import { stringify } from 'yaml';

/**
 * Pod-template annotations by which one says how the pods of a Job (or any
 * other pod) shall behave on the fake node, where no container ever runs.
 */
export const podAnnotations = {
  /** How long a Job's pod runs, as a Go duration (`2s`, `150ms`). Default 200 ms. */
  duration: 'sim.drover.dev/duration',
  /** The exit code of every container, as a string. Default `"0"`; anything else fails the pod. */
  exitCode: 'sim.drover.dev/exit-code',
  /** Any value: the pod runs until it is deleted or its Job's deadline passes. */
  hang: 'sim.drover.dev/hang',
  /** The containers' termination message. Default empty. */
  message: 'sim.drover.dev/message',
  /** How long the pod takes to go once it is deleted, as a Go duration. Default 1 s; no grace period cuts it short. */
  stop: 'sim.drover.dev/stop',
  /** Any value: once deleted the pod stays Terminating, like one on a node that is dead. */
  neverStops: 'sim.drover.dev/never-stops',
} as const;

const exists = (key: string, yes: boolean): object => ({ key, operator: yes ? 'Exists' : 'DoesNotExist' });
const annotation = (name: string): string => `.metadata.annotations["${name}"]`;

const startTemplate = `phase: Running
startTime: {{ Now | Quote }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ Now | Quote }}}
- {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
- {type: ContainersReady, status: "True", lastTransitionTime: {{ Now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: true, started: true, restartCount: 0, state: {running: {startedAt: {{ Now | Quote }}}}}
{{ end }}
`;

const endTemplate = `{{ $a := or .metadata.annotations dict }}
{{ $code := or ( index $a "${podAnnotations.exitCode}" ) "0" }}
{{ $message := or ( index $a "${podAnnotations.message}" ) "" }}
phase: {{ if eq $code "0" }}Succeeded{{ else }}Failed{{ end }}
conditions:
- {type: Initialized, status: "True", reason: PodCompleted}
- {type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: {{ Now | Quote }}}
- {type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: {{ Now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: false, started: false, restartCount: 0, state: {terminated: {exitCode: {{ $code }}, reason: {{ if eq $code "0" }}Completed{{ else }}Error{{ end }}, message: {{ $message | Quote }}, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }}}}}
{{ end }}
`;

/**
 * The stages file of the fake node: pods start at once, pods of Jobs end as
 * their annotations say, deleted pods go after a second or as theirs say. One pod stage in the file replaces all
 * of the program's built-in ones, so all three are given. `remove` leaves
 * finalizers alone: the job controller counts pods by them.
 */
export function stagesFile(): string {
  const pod = { apiGroup: 'v1', kind: 'Pod' };
  const stage = (name: string, spec: object): object => ({
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: { resourceRef: pod, ...spec },
  });
  const patch = (template: string): object => ({
    patches: [{ subresource: 'status', root: 'status', template }],
  });
  return [
    stage('start', {
      selector: {
        matchExpressions: [exists('.metadata.deletionTimestamp', false), exists('.status.startTime', false)],
      },
      next: patch(startTemplate),
    }),
    stage('end', {
      selector: {
        matchExpressions: [
          exists('.metadata.deletionTimestamp', false),
          { key: '.status.phase', operator: 'In', values: ['Running'] },
          { key: '.metadata.ownerReferences.[].kind', operator: 'In', values: ['Job'] },
          exists(annotation(podAnnotations.hang), false),
        ],
      },
      delay: {
        durationMilliseconds: 200,
        durationFrom: { expressionFrom: annotation(podAnnotations.duration) },
      },
      next: patch(endTemplate),
    }),
    stage('remove', {
      selector: {
        matchExpressions: [
          exists('.metadata.deletionTimestamp', true),
          exists(annotation(podAnnotations.neverStops), false),
        ],
      },
      delay: {
        durationMilliseconds: 1000,
        durationFrom: { expressionFrom: annotation(podAnnotations.stop) },
      },
      next: { delete: true },
    }),
  ]
    .map((document) => stringify(document, { lineWidth: 0 }))
    .join('---\n');
}
