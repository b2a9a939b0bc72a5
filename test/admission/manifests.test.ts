/** What is applied by hand in a cluster: the rights suffice, and the configurations are accepted. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KINDS } from '../../api/kinds.js';
import { TLS_SECRET } from '../../crd-bridge/webhook/certificate-source.js';
import { renew } from '../../crd-bridge/webhook/certificates.js';
import { foreignRegistration } from '../../crd-bridge/webhook/registration.js';
import type { WebhookConfiguration } from '../../crd-bridge/webhook/configuration.js';
import { SEAL_SECRET } from '../../kube/seal-secret.js';
import type { KubeObject } from '../../kube/object.js';
import { servers } from '../support/servers.js';
import { openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('manifests');
});
afterAll(() => stack.close());

const read = async (path: string): Promise<KubeObject[]> =>
  parseAllDocuments(await readFile(path, 'utf8')).map((document) => document.toJSON() as KubeObject);
const keyOf = ({ apiVersion = '', kind = '', metadata: { name, namespace } }: KubeObject) => ({
  apiVersion,
  kind,
  name,
  ...(namespace !== undefined && { namespace }),
});
const apply = (object: KubeObject, dryRun: boolean) =>
  stack.kube.patch(keyOf(object), object, { kind: 'apply', force: true, fieldManager: 'test', dryRun });

it('the account of the bridge may do what admission needs, and not more with Secrets', async () => {
  for (const path of ['deploy/rbac/bridge.yaml', 'deploy/webhook/rbac.yaml', 'deploy/webhook/service.yaml']) {
    for (const object of await read(path)) await apply(object, false);
  }
  const account = 'system:serviceaccount:drover-system:drover-bridge';
  const bridge = stack.kube.as({ user: account, groups: ['system:serviceaccounts', 'system:authenticated'] });
  const may = async (verb: string, resource: string, more: object = {}): Promise<boolean> => {
    const [name = '', group = ''] = resource.split('.', 1).concat(resource.split('.').slice(1).join('.'));
    const review = await bridge.raw<{ status: { allowed: boolean } }>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb, resource: name, group, ...more } },
      },
    });
    return review.status.allowed;
  };
  const secret = { namespace: 'drover-system', name: TLS_SECRET };
  for (const verb of ['get', 'update', 'create']) expect(await may(verb, 'secrets', secret), verb).toBe(true);
  const seal = { namespace: 'drover-system', name: SEAL_SECRET };
  for (const verb of ['get', 'create']) expect(await may(verb, 'secrets', seal), verb).toBe(true);
  expect(await may('delete', 'secrets', seal)).toBe(false);
  expect(await may('get', 'secrets', { namespace: 'drover-system', name: 'other' })).toBe(false);
  expect(await may('get', 'secrets', { namespace: 'default', name: TLS_SECRET })).toBe(false);
  for (const kind of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
    for (const verb of ['get', 'create', 'patch']) {
      expect(await may(verb, `${kind}.admissionregistration.k8s.io`, { name: 'drover' }), verb).toBe(true);
    }
    expect(await may('patch', `${kind}.admissionregistration.k8s.io`, { name: 'other' })).toBe(false);
  }
  for (const verb of ['get', 'list', 'watch']) expect(await may(verb, 'namespaces'), verb).toBe(true);
  // Whether the previous controller runs.
  expect(await may('list', 'deployments.apps')).toBe(true);
  expect(await may('list', 'leases.coordination.k8s.io')).toBe(true);
  expect(await may('create', 'subjectaccessreviews.authorization.k8s.io')).toBe(true);
  for (const resource of ['serviceaccounts', 'users', 'groups'])
    expect(await may('impersonate', resource), resource).toBe(false);
  const review = await bridge.raw<{ status: { userInfo: { username: string } } }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  expect(review.status.userInfo.username).toBe(account);
});

it('the generated configurations are accepted', async () => {
  const objects = await read('deploy/webhook/configurations.yaml');
  expect(objects.map(({ kind }) => kind)).toEqual([
    'ValidatingWebhookConfiguration',
    'MutatingWebhookConfiguration',
  ]);
  // Under another name, as the bridge of these tests keeps its own.
  for (const object of objects) {
    await apply({ ...object, metadata: { ...object.metadata, name: 'probe' } }, true);
  }
});

it('authorities are filled into configurations that somebody else keeps, and nothing else is changed', async () => {
  const key = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    name: 'drover',
  };
  const before = await stack.kube.get<WebhookConfiguration>(key);
  const bundle = Buffer.from(before?.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
  // What is trusted now stays trusted: the bridge that serves all tests goes on.
  const { material } = await renew(undefined, {
    hosts: ['x'],
    now: new Date(),
    lifetimes: { authorityMs: 3_600_000, servingMs: 3_600_000 },
  });
  const registration = foreignRegistration(stack.kube, {
    reach: { kind: 'url', url: servers.endpoints.kubernetes },
    kinds: KINDS,
    account: () => Promise.resolve('nobody'),
  });
  await registration.publish(bundle + material.caBundle);
  const after = await stack.kube.get<WebhookConfiguration>(key);
  const encoded = Buffer.from(bundle + material.caBundle).toString('base64');
  expect(after?.webhooks).toEqual(
    before?.webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle: encoded },
    })),
  );
  await registration.publish(bundle);
});
