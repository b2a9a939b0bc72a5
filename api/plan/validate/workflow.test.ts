import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorsOf } from '../../core/problem.js';
import { ACTION_TYPES } from '../actions/table.js';
import type { Problem } from '../../core/problem.js';
import { validateWorkflow } from './workflow.js';

type Loose = Record<string, unknown>;

const http = (name = 'a', more: Loose = {}): Loose => ({
  name,
  type: 'HTTP',
  http: { url: 'https://gslb.example/' },
  ...more,
});
const resource = (block: Loose, more: Loose = {}): Loose => ({
  name: 'r',
  type: 'KubernetesResource',
  resource: { manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}', ...block },
  ...more,
});
const CONTAINERS =
  '{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: [{name: web, image: "web:2"}]}}}}';
const UNDO = { rollback: { type: 'Wait', wait: { duration: '1s' } } };
const pod = { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] };
const job = (spec: Loose = {}, podSpec: Loose = pod): Loose => ({
  name: 'j',
  type: 'Job',
  job: { template: { spec: { template: { spec: podSpec }, ...spec } } },
});
const feed = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: 'shop' };
const globalization = (block: Loose, name = 'g'): Loose => ({
  name,
  type: 'Globalization',
  globalization: { name: 'web', ...block },
});
const chart: Loose = {
  name: 'web',
  namespace: 'charts',
  spec: { repo: 'oci://example.org/charts', chart: 'web', targetNamespace: 'shop' },
};
const helmChart = (block: Loose, more: Loose = {}): Loose => ({
  name: 'chart',
  type: 'HelmChart',
  helmChart: { ...chart, ...block },
  ...more,
});
const localization = (block: Loose, more: Loose = {}): Loose => ({
  name: 'l',
  type: 'Localization',
  localization: { name: 'web', namespace: 'clusternet-a', ...block },
  ...more,
});
const subscription = (block: Loose, more: Loose = {}): Loose => ({
  name: 's',
  type: 'Subscription',
  waitReady: true,
  subscription: {
    name: 'web',
    feeds: [feed],
    subscribers: [{ clusterAffinity: { matchLabels: { site: 'b' } } }],
    ...block,
  },
  ...more,
});

const workflow = (actions: unknown, more: Loose = {}): Loose => ({
  apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
  kind: 'DRWorkflow',
  metadata: { name: 'w', namespace: 'dr' },
  spec: { actions, ...more },
});

const check = (...actions: unknown[]): Problem[] => validateWorkflow(workflow(actions));
const brief = (problems: Problem[]): string[] =>
  problems.map((problem) => `${problem.severity} ${problem.reason} ${problem.path}`);

describe('valid workflows', () => {
  it('of every type have nothing to say', () => {
    const actions = [
      http(),
      job(),
      localization({ feed, overrides: [{ name: 'x', type: 'MergePatch', value: 'spec: {replicas: 1}' }] }),
      globalization({ spec: { feed, clusterAffinity: { matchLabels: { site: 'a' } } } }),
      helmChart({}),
      subscription({}),
      resource({}),
    ];
    expect(check(...actions)).toEqual([]);
  });

  it('as the original wrote them: nested bodies, a multiplier as text, both kinds of placeholder [S1.2]', () => {
    const problems = validateWorkflow(
      workflow(
        [
          localization({
            operation: 'Create',
            spec: {
              overridePolicy: 'ApplyNow',
              priority: 600,
              feed,
              overrides: [
                { name: 'x', type: 'JSONPatch', value: '- {op: add, path: /x, value: $(params.n)}' },
              ],
            },
          }),
          subscription(
            {
              feeds: undefined,
              subscribers: undefined,
              spec: { feeds: [feed], subscribers: [{ clusterAffinity: { matchLabels: { a: 'b' } } }] },
            },
            { retryPolicy: { limit: 3, interval: '5s', backoffMultiplier: '2.0' }, timeout: '5m' },
          ),
          resource({ manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .params.n }}"}' }),
        ],
        { parameters: [{ name: 'n', default: '3' }], failurePolicy: 'FailFast' },
      ),
    );
    expect(problems).toEqual([]);
  });
});

describe('shape', () => {
  it.each([
    [undefined, ''],
    ['text', ''],
    [{}, 'spec'],
    [workflow([]), 'spec.actions'],
    [workflow([{ name: 'a' }]), 'spec.actions[0].type'],
    [workflow([http('a', { timeout: '5 minutes' })]), 'spec.actions[0].timeout'],
    [workflow([http('a', { retryPolicy: { limit: -1 } })]), 'spec.actions[0].retryPolicy.limit'],
    [workflow([http()], { failurePolicy: 'Stop' }), 'spec.failurePolicy'],
    [workflow([http()], { parameters: [{ name: 'x', default: {} }] }), 'spec.parameters[0].default'],
  ])('%j is refused at %s [S1.9]', (value, path) => {
    const [problem] = validateWorkflow(value);
    expect(problem).toMatchObject({ severity: 'error', path, reason: 'InvalidField' });
  });

  it('names the value and what is allowed [S1.9]', () => {
    const [policy] = validateWorkflow(workflow([http()], { failurePolicy: 'Stop' }));
    expect(policy?.message).toBe('is "Stop"; allowed are FailFast, Continue');
    const [timeout] = check(http('a', { timeout: '5 minutes' }));
    expect(timeout?.message).toBe('is "5 minutes"; must be a duration such as 30s, 5m or 1h30m');
    const [type] = check(http('a', { type: 'Http' }));
    expect(type?.message).toBe(`is "Http"; allowed are ${ACTION_TYPES.join(', ')}`);
  });
});

const watched = { apiVersion: 'v1', kind: 'Pod', name: 'x' };
const ask = (name: string, block: Loose): Loose => ({
  name,
  type: 'Approval',
  approval: { message: 'go?', ...block },
});
const tell = (name: string, block: Loose): Loose => ({ name, type: 'Notify', notify: block });
const wait = (name: string, block: Loose): Loose => ({ name, type: 'Wait', wait: block });

const nest = (name: string, block: Loose, more: Loose = {}): Loose => ({
  name,
  type: 'Plan',
  plan: block,
  ...more,
});

describe('rules', () => {
  const cases: [string, Loose[], string[]][] = [
    [
      'a nested plan has a name that a plan can have, and is never run again by itself',
      [
        nest('a', { name: 'Inner Plan' }),
        nest(
          'b',
          { name: 'p', params: [{ name: 'x', value: '{{ .outputs.a.planExecutionRef.name }}' }] },
          { timeout: '2h', retryPolicy: { limit: 1 }, totalTimeout: '3h' },
        ),
        nest('c', { name: 'p', params: [{ name: 'x', value: '{{ .outputs.b.planExecutionRef.nam }}' }] }),
        http('d', { rollback: { type: 'Plan', plan: { name: 'back' } } }),
      ],
      [
        'error InvalidName spec.actions[0].plan.name',
        'warning IgnoredField spec.actions[1].totalTimeout',
        'warning IgnoredField spec.actions[1].retryPolicy',
        'error UndefinedOutput spec.actions[2].plan',
      ],
    ],
    ['names are unique', [http('a'), http('a')], ['error DuplicateName spec.actions[1].name']],
    ['the block is there', [http('a', { http: undefined })], ['error InvalidField spec.actions[0].http']],
    [
      'a foreign block is ignored',
      [http('a', { job: { template: {} } })],
      ['warning IgnoredField spec.actions[0].job'],
    ],
    [
      'unknown types and misplaced fields are refused',
      [http('a', { type: 'Terraform' }), http('b', { target: { kubeconfigSecretRef: { name: 'x' } } })],
      ['error InvalidField spec.actions[0].type', 'error UnsupportedField spec.actions[1].target'],
    ],
    [
      'a hook is one of eight, and a revert waits for nobody',
      [
        http('a', { hookType: 'test' }),
        http('b', {
          type: 'Approval',
          http: undefined,
          approval: { message: 'sure?', approvers: { users: ['alice', 'bob'] } },
          hookType: 'pre-rollback',
        }),
        http('c', {
          hookType: 'pre-install',
          rollback: { http: { url: 'https://x' }, hookType: 'pre-delete' },
        }),
      ],
      [
        'error InvalidField spec.actions[0].hookType',
        'error UnsupportedField spec.actions[1].hookType',
        'warning IgnoredField spec.actions[2].rollback.hookType',
      ],
    ],
    [
      'hookCleanup belongs to what makes objects',
      [
        http('a', { hookCleanup: { beforeCreate: true } }),
        http('b', { hookCleanup: { onSucces: true, onSuccess: 'yes' } }),
      ],
      [
        'error InvalidField spec.actions[1].hookCleanup.onSuccess',
        'warning IgnoredField spec.actions[0].hookCleanup',
      ],
    ],
    [
      'hookCleanup of an action that makes none is ignored',
      [http('a', { hookCleanup: { beforeCreate: true } })],
      ['warning IgnoredField spec.actions[0].hookCleanup'],
    ],
    [
      'a hook waits for nothing that comes after it',
      [
        http('main'),
        http('pre', { hookType: 'pre-install', dependsOn: ['main'] }),
        http('post', { hookType: 'post-install', dependsOn: ['main', 'pre'] }),
        http('other', { dependsOn: ['post'] }),
      ],
      [
        'error DependencyCycle spec.actions[1].dependsOn[0]',
        'error DependencyCycle spec.actions[3].dependsOn[0]',
      ],
    ],
    [
      'a target belongs to types that can act elsewhere, and names a Secret',
      [
        http('a', {
          type: 'KubernetesResource',
          http: undefined,
          resource: { manifest: '{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}' },
          target: { kubeconfigSecretRef: { name: 'Site B' } },
        }),
        http('b', {
          rollback: {
            type: 'HTTP',
            http: { url: 'https://x/' },
            target: { kubeconfigSecretRef: { name: 'x' } },
          },
        }),
      ],
      [
        'error InvalidName spec.actions[0].target.kubeconfigSecretRef.name',
        'error UnsupportedField spec.actions[1].rollback.target',
      ],
    ],
    [
      'an approval has approvers, enough of them, and a time that ends it',
      [
        ask('a', { approvers: { users: ['alice', 'bob'] }, timeout: '24h' }),
        ask('b', { approvers: {} }),
        ask('c', { approvers: { users: ['alice', 'alice'] }, quorum: 2 }),
        ask('d', { approvers: { users: ['alice'] } }),
        ask('e', { approvers: { groups: ['ops'] }, quorum: 3, defaultOutcome: 'Approve' }),
        ask('f', { approvers: { groups: ['ops'] }, timeout: '1000h' }),
        ask('g', { approvers: { groups: ['ops'] }, timeout: '1h', defaultOutcome: 'Approve' }),
        { ...ask('h', { approvers: { groups: ['ops'] } }), timeout: '5m' },
        http('i', { rollback: { ...ask('x', { approvers: { groups: ['ops'] } }) } }),
      ],
      [
        'error InvalidField spec.actions[1].approval.approvers',
        'error InvalidField spec.actions[2].approval.quorum',
        'warning SuspectField spec.actions[3].approval.quorum',
        'warning IgnoredField spec.actions[4].approval.defaultOutcome',
        'error InvalidField spec.actions[5].approval.timeout',
        'warning SuspectField spec.actions[6].approval.defaultOutcome',
        'warning IgnoredField spec.actions[7].timeout',
        'error UnsupportedField spec.actions[8].rollback.type',
      ],
    ],
    [
      'a message has one address of its own kind, and tells no secret',
      [
        tell('a', { type: 'Webhook', url: 'https://x.example/{{ .params.p | default "a" }}' }),
        tell('b', {
          type: 'Slack',
          urlFrom: { secretKeyRef: { name: 's', key: 'url' } },
          template: 'at {{ .planName }}',
        }),
        tell('c', { type: 'Slack', url: 'https://hooks.example/T/B' }),
        tell('d', { type: 'Webhook' }),
        tell('e', { type: 'Lark', url: 'https://x.example/', headersFrom: [] }),
        tell('f', { type: 'Webhook', url: 'ftp://x.example/' }),
        tell('g', { type: 'Webhook', url: 'https://x.example/', template: '{{ .params.db_password }}' }),
      ],
      [
        'warning SecretInSpec spec.actions[2].notify.url',
        'error InvalidField spec.actions[3].notify',
        'error InvalidField spec.actions[4].notify.headersFrom',
        'warning SecretInSpec spec.actions[4].notify.url',
        'error InvalidURL spec.actions[5].notify.url',
        'error SecretInNotification spec.actions[6].notify.template',
        'warning UndeclaredParameter spec.actions[6].notify',
      ],
    ],
    [
      'an e-mail has addresses, and a password only over TLS',
      [
        tell('a', {
          type: 'Email',
          email: { host: 'mail.example', from: 'Dr <dr@x.example>', to: ['a@x.example'] },
        }),
        tell('b', { type: 'Email' }),
        tell('c', {
          type: 'Email',
          email: { host: 'mail.example', from: 'nobody', to: ['a@x.example', 'b'] },
        }),
        tell('d', {
          type: 'Email',
          email: {
            host: 'mail.example',
            security: 'None',
            from: 'dr@x.example',
            to: ['a@x.example'],
            credentialsSecretRef: { name: 's' },
          },
        }),
      ],
      [
        'error InvalidField spec.actions[1].notify.email',
        'error InvalidField spec.actions[2].notify.email.from',
        'error InvalidField spec.actions[2].notify.email.to[1]',
        'error InvalidField spec.actions[3].notify.email.security',
      ],
    ],
    [
      'a wait is for a time or for an object',
      [
        wait('a', { duration: '30s' }),
        wait('b', {}),
        wait('c', { duration: '30s', for: watched }),
        wait('d', { duration: 'soon' }),
        wait('e', { duration: '{{ .params.t | default "5s" }}' }),
        wait('f', { duration: '{{ .planName }}' }),
        wait('g', { duration: '5s', condition: 'true' }),
        { ...wait('h', { duration: '5s' }), timeout: '1m', target: { kubeconfigSecretRef: { name: 'x' } } },
      ],
      [
        'error InvalidField spec.actions[1].wait',
        'error InvalidField spec.actions[2].wait',
        'error InvalidField spec.actions[3].wait.duration',
        'error InvalidField spec.actions[5].wait.duration',
        'error InvalidField spec.actions[6].wait.condition',
        'error UnsupportedField spec.actions[7].target',
        'warning IgnoredField spec.actions[7].timeout',
      ],
    ],
    [
      'a wait for an object has one condition, which can be evaluated',
      [
        wait('a', { for: watched, condition: 'object.status.phase == "Running"' }),
        wait('b', { for: watched, condition: 'object == null' }),
        wait('c', {
          for: watched,
          jsonPath: '{.status.phase}',
          value: '{{ .params.p | default "Running" }}',
        }),
        wait('d', { for: watched }),
        wait('e', { for: watched, condition: 'true', jsonPath: '.a' }),
        wait('f', { for: watched, condition: 'object.status.' }),
        wait('g', { for: watched, condition: 'pod.status.phase == "Running"' }),
        wait('h', { for: watched, condition: '"a" + "b"' }),
        wait('i', { for: watched, jsonPath: '{..phase}' }),
        wait('j', { for: watched, condition: 'true', value: 'x' }),
        wait('k', { for: watched, condition: 'object.metadata.name == "{{ .params.p | default "x" }}"' }),
        wait('l', { for: { ...watched, name: 'Not a name' }, condition: 'true' }),
      ],
      [
        'error InvalidField spec.actions[3].wait',
        'error InvalidField spec.actions[4].wait',
        'error InvalidCondition spec.actions[5].wait.condition',
        'error InvalidCondition spec.actions[6].wait.condition',
        'error InvalidCondition spec.actions[7].wait.condition',
        'error InvalidField spec.actions[8].wait.jsonPath',
        'error InvalidField spec.actions[9].wait.value',
        'error InvalidCondition spec.actions[10].wait.condition',
        'error InvalidName spec.actions[11].wait.for.name',
      ],
    ],
    [
      'timeouts are sensible',
      [http('a', { totalTimeout: '0s' }), http('b', { timeout: '1m', totalTimeout: '30s' })],
      [
        'error InvalidField spec.actions[0].totalTimeout',
        'warning SuspectField spec.actions[0].totalTimeout',
        'warning SuspectField spec.actions[1].totalTimeout',
      ],
    ],
    [
      '[F26] a timeout of 0s, which means none, more than 100 retries, and any success codes',
      [
        http('a', { timeout: '0s', retryPolicy: { limit: 5000 } }),
        http('b', {
          http: {
            url: 'https://gslb.example/',
            successCodes: [...Array.from({ length: 200 }, (_, index) => 200 + index), 999],
          },
        }),
        http('c', { http: { url: 'https://gslb.example/', successCodes: [0] } }),
      ],
      ['warning SuspectField spec.actions[2].http.successCodes[0]'],
    ],
    [
      'multipliers are numbers from 1',
      [
        http('a', { retryPolicy: { backoffMultiplier: 'fast' } }),
        http('b', { retryPolicy: { backoffMultiplier: 0.5 } }),
      ],
      [
        'error InvalidField spec.actions[0].retryPolicy.backoffMultiplier',
        'error InvalidField spec.actions[1].retryPolicy.backoffMultiplier',
      ],
    ],
    [
      'dependencies exist',
      [http('a', { dependsOn: ['b'] })],
      ['error UnknownDependency spec.actions[0].dependsOn[0]'],
    ],
    [
      'dependencies have no cycle',
      [http('a', { dependsOn: ['b'] }), http('b', { dependsOn: ['a'] })],
      ['error DependencyCycle spec.actions'],
    ],
    ['conditions can be read', [http('a', { when: 'outputs.' })], ['error InvalidWhen spec.actions[0].when']],
    [
      'outputs exist',
      [http('a', { http: { url: 'https://x/{{ .outputs.b.httpResponse.body }}' } })],
      ['error UndefinedOutput spec.actions[0].http'],
    ],
    [
      'placeholders can be filled in',
      [http('a', { http: { url: 'https://x/{{ .params.x | upper }}' } })],
      ['error InvalidPlaceholder spec.actions[0].http.url'],
    ],
    [
      'undeclared parameters are left to the plan',
      [http('a', { http: { url: 'https://x/{{ .params.x }}' } })],
      ['warning UndeclaredParameter spec.actions[0].http'],
    ],
    // HTTP
    [
      'URLs are http or https',
      [http('a', { http: { url: 'ftp://x' } })],
      ['error InvalidURL spec.actions[0].http.url'],
    ],
    [
      'TLS is expected',
      [http('a', { http: { url: 'http://x/' } })],
      ['warning InsecureTransport spec.actions[0].http.url'],
    ],
    [
      'methods are known',
      [
        http('a', {
          http: { url: 'https://x/', method: 'FETCH' },
          rollback: { http: { url: 'https://x/' } },
        }),
      ],
      ['error InvalidField spec.actions[0].http.method'],
    ],
    [
      'headers are valid',
      [http('a', { http: { url: 'https://x/', headers: { 'a b': 'c', X: 'a\r\nb' } } })],
      [
        'error InvalidHeader spec.actions[0].http.headers["a b"]',
        'error InvalidHeader spec.actions[0].http.headers.X',
      ],
    ],
    [
      'a POST without rollback cannot be undone',
      [http('a', { http: { url: 'https://x/', method: 'POST' } })],
      ['warning NoRollback spec.actions[0]'],
    ],
    // Job
    [
      'Jobs are not suspended',
      [job({ suspend: true })],
      ['error InvalidJob spec.actions[0].job.template.spec.suspend'],
    ],
    [
      'pods of Jobs end',
      [job({}, { ...pod, restartPolicy: 'Always' })],
      ['error InvalidJob spec.actions[0].job.template.spec.template.spec.restartPolicy'],
    ],
    [
      'pods of Jobs have containers',
      [job({}, { restartPolicy: 'Never', containers: [] })],
      ['error InvalidJob spec.actions[0].job.template.spec.template.spec.containers'],
    ],
    // KubernetesResource
    [
      'manifests are YAML',
      [resource({ manifest: 'a: [' })],
      ['error InvalidManifest spec.actions[0].resource.manifest'],
    ],
    [
      'manifests have an end',
      [resource({ manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a, again: *m}' })],
      ['error InvalidManifest spec.actions[0].resource.manifest'],
    ],
    [
      'manifests are not endlessly deep',
      [
        resource({
          manifest: `apiVersion: v1\nkind: X\nmetadata: {name: a}\nd: ${'['.repeat(300)}${']'.repeat(300)}`,
        }),
      ],
      ['error InvalidManifest spec.actions[0].resource.manifest'],
    ],
    [
      'names in manifests are not too long',
      [resource({ manifest: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${'n'.repeat(254)}}` })],
      ['error InvalidName spec.actions[0].resource.manifest'],
    ],
    [
      'names of Namespaces are shorter',
      [
        resource({ manifest: `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${'n'.repeat(64)}}` }),
        {
          ...resource({
            manifest: `apiVersion: v1\nkind: Role\nmetadata: {name: "system:${'n'.repeat(64)}"}`,
          }),
          name: 'b',
        },
      ],
      ['error InvalidName spec.actions[0].resource.manifest'],
    ],
    [
      'names leave room for their placeholders',
      [
        resource({
          manifest: `apiVersion: v1\nkind: X\nmetadata: {name: "${'n'.repeat(254)}{{ .planName }}"}`,
        }),
        {
          ...resource({
            manifest: `apiVersion: v1\nkind: X\nmetadata: {name: "${'n'.repeat(253)}{{ .planName }}"}`,
          }),
          name: 'b',
        },
        {
          name: 'c',
          type: 'Localization',
          localization: {
            operation: 'Delete',
            name: 'l',
            namespace: `${'n'.repeat(64)}{{ .planName }}`,
          },
        },
      ],
      [
        'error InvalidName spec.actions[0].resource.manifest',
        'error InvalidName spec.actions[2].localization.namespace',
      ],
    ],
    [
      'manifests hold objects',
      [resource({ manifest: '# nothing' })],
      ['error InvalidManifest spec.actions[0].resource.manifest'],
    ],
    [
      'objects have a name',
      [resource({ manifest: 'apiVersion: v1\nkind: ConfigMap' })],
      ['error InvalidManifest spec.actions[0].resource.manifest'],
    ],
    [
      '[F7] labels and annotations are text',
      [
        resource({
          manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {version: 1.10, ok: "1", gone: ~}, annotations: {enabled: yes}}}`,
        }),
      ],
      [
        'error InvalidManifest spec.actions[0].resource.manifest',
        'error InvalidManifest spec.actions[0].resource.manifest',
      ],
    ],
    [
      '[F7] selectors, labels of templates and the data of a ConfigMap are text',
      [
        resource({
          manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: on, b: 0755}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: {a: 1}}, template: {metadata: {labels: {a: 1}}}}}`,
        }),
        { ...job({ template: { metadata: { annotations: { keep: true } }, spec: pod } }), name: 'b' },
      ],
      [
        ...Array.from({ length: 4 }, () => 'error InvalidManifest spec.actions[0].resource.manifest'),
        'error InvalidManifest spec.actions[1].job.template',
      ],
    ],
    [
      '[F7] what a kind of others calls metadata, and what is deleted, is not judged',
      [
        resource({
          manifest:
            '{apiVersion: example.org/v1, kind: Values, metadata: {name: a}, spec: {metadata: {labels: {a: 1}}, nodeSelector: {b: true}}}',
        }),
        {
          ...resource({
            operation: 'Delete',
            manifest: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: 1}}}',
          }),
          name: 'b',
        },
      ],
      [],
    ],
    [
      '[F8] a merge patch that replaces a list of named items is warned of, a strategic one is not',
      [
        resource(
          { operation: 'Patch', manifest: CONTAINERS },
          { rollback: { resource: { operation: 'Patch', manifest: CONTAINERS } } },
        ),
        {
          ...resource({ operation: 'Patch', patchType: 'strategic', manifest: CONTAINERS }, UNDO),
          name: 'b',
        },
        { ...resource({ operation: 'Apply', manifest: CONTAINERS }), name: 'c' },
      ],
      [
        'warning ReplacesList spec.actions[0].resource.manifest',
        'warning ReplacesList spec.actions[0].rollback.resource.manifest',
      ],
    ],
    [
      '[F8] a List counts as its items',
      [
        resource({
          manifest: `{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}`,
        }),
        {
          ...resource({
            manifest: '{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap}]}',
          }),
          name: 'b',
        },
      ],
      ['error InvalidManifest spec.actions[1].resource.manifest'],
    ],
    [
      'fields of other operations are told',
      [resource({ force: true, patchType: 'merge' })],
      [
        'warning IgnoredField spec.actions[0].resource.force',
        'warning IgnoredField spec.actions[0].resource.patchType',
      ],
    ],
    [
      'operations are known',
      [resource({ operation: 'Upsert' })],
      ['error InvalidField spec.actions[0].resource.operation'],
    ],
    [
      'Patch needs a rollback',
      [resource({ operation: 'Patch' })],
      ['error MissingRollback spec.actions[0].resource.operation'],
    ],
    [
      'Patch with a rollback is fine',
      [
        resource(
          { operation: 'Patch' },
          {
            rollback: {
              resource: { operation: 'Delete', manifest: 'apiVersion: v1\nkind: A\nmetadata: {name: x}' },
            },
          },
        ),
      ],
      [],
    ],
    [
      'a templated operation may become Patch',
      [resource({ operation: '{{ .planName }}' })],
      ['warning MissingRollback spec.actions[0].resource.operation'],
    ],
    // Rollback
    [
      'the type of a rollback is valid',
      [http('a', { rollback: { type: 'Magic' } })],
      ['error InvalidField spec.actions[0].rollback.type'],
    ],
    [
      'a rollback without a type has that of its action',
      [http('a', { rollback: { resource: { manifest: 'a' } } })],
      [
        'warning IgnoredField spec.actions[0].rollback.resource',
        'error InvalidField spec.actions[0].rollback.http',
      ],
    ],
    [
      'a rollback is checked like an action',
      [http('a', { rollback: { type: 'Job', job: { template: {} }, when: 'true' } })],
      [
        'error InvalidJob spec.actions[0].rollback.job.template.spec',
        'warning IgnoredField spec.actions[0].rollback.when',
      ],
    ],
    // Localization
    ['Create needs a feed', [localization({})], ['error InvalidField spec.actions[0].localization.feed']],
    [
      'ApplyLater warns',
      [localization({ feed, overridePolicy: 'ApplyLater' })],
      ['warning ApplyLater spec.actions[0].localization.overridePolicy'],
    ],
    [
      'ApplyLater in a nested body warns',
      [localization({ spec: { feed, overridePolicy: 'ApplyLater' } })],
      ['warning ApplyLater spec.actions[0].localization.spec.overridePolicy'],
    ],
    [
      'flat and nested exclude each other',
      [localization({ feed, spec: { feed } })],
      ['error AmbiguousBody spec.actions[0].localization.spec'],
    ],
    [
      'overrides fit their type',
      [
        localization({
          feed,
          overrides: [
            { name: 'x', type: 'JSONPatch', value: 'a: b' },
            { name: 'y', type: 'Strategic', value: 'a: b' },
            { name: 'z', type: 'MergePatch', value: 'a: [' },
          ],
        }),
      ],
      [
        'error InvalidOverride spec.actions[0].localization.overrides[0].value',
        'error InvalidField spec.actions[0].localization.overrides[1].type',
        'error InvalidManifest spec.actions[0].localization.overrides[2].value',
      ],
    ],
    [
      'Patch of a Localization needs a rollback',
      [localization({ operation: 'Patch' })],
      ['error MissingRollback spec.actions[0].localization.operation'],
    ],
    [
      'execution per cluster is for Subscriptions that are waited for',
      [
        subscription({}, { clusterExecutionMode: 'PerCluster', maxConcurrentClusters: 2 }),
        subscription({}, { name: 'b', clusterExecutionMode: 'PerCluster', waitReady: false }),
        http('c', { clusterExecutionMode: 'PerCluster', maxConcurrentClusters: 2 }),
        http('d', { clusterExecutionMode: 'Rolling' }),
        http('e', { clusterExecutionMode: '' }),
        http('f', { clusterExecutionMode: 'Global' }),
      ],
      [
        'warning IgnoredField spec.actions[1].clusterExecutionMode',
        'warning IgnoredField spec.actions[2].clusterExecutionMode',
        'warning IgnoredField spec.actions[2].maxConcurrentClusters',
        'error InvalidField spec.actions[3].clusterExecutionMode',
        'warning NotWaiting spec.actions[1].waitReady',
      ],
    ],
    // Globalization
    [
      'Create of a Globalization needs a feed, and its affinity is a selector',
      [
        globalization({ spec: { clusterAffinity: 'site-a' } }),
        globalization({ spec: { feed, overridePolicy: 'ApplyLater', clusterAffinity: {} } }, 'h'),
        globalization({ operation: 'Patch', spec: { overrides: [{ type: 'Helm', value: 'a: [' }] } }, 'i'),
      ],
      [
        'error InvalidField spec.actions[0].globalization.spec.feed',
        'error InvalidField spec.actions[0].globalization.spec.clusterAffinity',
        'warning ApplyLater spec.actions[1].globalization.spec.overridePolicy',
        'warning SelectsAllClusters spec.actions[1].globalization.spec.clusterAffinity',
        'error InvalidManifest spec.actions[2].globalization.spec.overrides[0].value',
        'error MissingRollback spec.actions[2].globalization.operation',
      ],
    ],
    // HelmChart
    [
      'a HelmChart needs repo, chart and targetNamespace, a Patch only what it changes',
      [
        helmChart({ spec: { repo: 'charts.example.org', chart: 'web' } }),
        helmChart(
          { operation: 'Patch', spec: { version: '2' } },
          { name: 'b', rollback: { helmChart: chart } },
        ),
        helmChart({ operation: 'Delete', spec: undefined }, { name: 'c' }),
        helmChart({ operation: 'Replace', namespace: 'Shop' }, { name: 'd' }),
      ],
      [
        'error InvalidField spec.actions[0].helmChart.spec.targetNamespace',
        'error InvalidField spec.actions[0].helmChart.spec.repo',
        'error InvalidName spec.actions[3].helmChart.namespace',
        'error InvalidField spec.actions[3].helmChart.operation',
      ],
    ],
    // Subscription
    [
      'a Subscription selects clusters',
      [subscription({ subscribers: [{ weight: 1 }] })],
      ['error NoClusterAffinity spec.actions[0].subscription.subscribers[0].clusterAffinity'],
    ],
    [
      'selecting every cluster warns',
      [subscription({ subscribers: [{ clusterAffinity: {} }] })],
      ['warning SelectsAllClusters spec.actions[0].subscription.subscribers[0].clusterAffinity'],
    ],
    [
      'not waiting warns',
      [subscription({}, { waitReady: false })],
      ['warning NotWaiting spec.actions[0].waitReady'],
    ],
    [
      'Create needs feeds',
      [subscription({ feeds: [] })],
      ['error InvalidField spec.actions[0].subscription.feeds'],
    ],
  ];

  it.each(cases)('%s [S1.9] [S3.31]', (_, actions, expected) => {
    expect(brief(check(...actions))).toEqual(expected);
  });

  it('Argo warns, other executors are refused [S1.14]', () => {
    const executor = (type: string): string[] =>
      brief(validateWorkflow(workflow([http()], { executor: { type } })));
    expect(executor('Native')).toEqual([]);
    expect(executor('Argo')).toEqual(['warning UnsupportedExecutor spec.executor.type']);
    expect(executor('Tekton')).toEqual(['error InvalidField spec.executor.type']);
  });

  it('checks defaults of parameters, and leaves required ones to the plan', () => {
    const reader = http('a', { http: { url: 'https://gslb.example/{{ .params.x }}' } });
    const declare = (parameter: Loose): string[] =>
      brief(validateWorkflow(workflow([reader], { parameters: [{ name: 'x', ...parameter }] })));
    expect(declare({ required: true })).toEqual([]);
    expect(declare({ type: 'number', default: 'many' })).toEqual([
      'error InvalidParameter spec.parameters[0].default',
    ]);
    expect(declare({ valueFrom: {} })).toEqual(['error UnsupportedField spec.parameters[0].valueFrom']);
    // [F16]
    expect(declare({ default: '{{ .params.y }}' })).toEqual([
      'warning LiteralPlaceholder spec.parameters[0].default',
    ]);
  });

  it('cannot be overflown by depth or size', () => {
    let deep: unknown = 'x';
    for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
    expect(brief(check(job({}, deep as Loose)))).toEqual(['error TooComplex spec']);
    const wide = Array.from({ length: 300_000 }, () => 0);
    expect(brief(validateWorkflow(workflow(wide)))).toEqual(['error TooComplex spec']);
  });
});

describe('any JSON value', () => {
  const names = ['a', 'b', 'Patch', '{{ .params.x }}', '{{ .outputs.a.b }}', '$(params.', '5m', ''];
  const leaf = fc.oneof(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }));
  const loose = (fields: string[]): fc.Arbitrary<Loose> =>
    fc
      .array(fc.tuple(fc.constantFrom(...fields), leaf), { maxLength: 8 })
      .map((entries) => Object.fromEntries(entries));
  const types = [
    'HTTP', 'Job', 'Localization', 'Globalization', 'HelmChart', 'Subscription', 'KubernetesResource', 'Terraform',
  ]; // oxfmt-ignore
  const action = fc
    .record({
      name: leaf,
      type: fc.constantFrom(...types),
      http: loose(['url', 'method', 'headers', 'body', 'successCodes', 'headersFrom']),
      job: fc.record({ template: fc.record({ spec: fc.oneof(leaf, loose(['template', 'suspend'])) }) }),
      localization: loose(['operation', 'name', 'namespace', 'feed', 'overrides', 'spec', 'priority']),
      globalization: loose(['operation', 'name', 'spec']),
      helmChart: loose(['operation', 'name', 'namespace', 'spec']),
      subscription: loose(['operation', 'name', 'feeds', 'subscribers', 'spec']),
      resource: loose(['operation', 'manifest', 'force']),
    })
    .chain((base) =>
      loose(['rollback', 'when', 'dependsOn', 'timeout', 'retryPolicy']).map((more) => ({
        ...base,
        ...more,
      })),
    );

  it('gives problems, never an exception', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.array(action, { maxLength: 4 }).map((a) => workflow(a)),
        ),
        (value) => {
          for (const problem of validateWorkflow(value)) {
            expect(problem.message).not.toBe('');
            expect(problem.reason).toMatch(/^[A-Z][A-Za-z]+$/);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is never passed over silently when it is not a workflow', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(errorsOf(validateWorkflow(value))).not.toEqual([]);
      }),
    );
  });
});
