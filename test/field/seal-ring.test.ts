/** The ring of seal keys on a real cluster: who makes it, who waits for it, and how it is changed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSealKey, parseSealKeys } from '../../api/core/seal.js';
import { SEAL_SECRET, sealSecret } from '../../kube/seal-secret.js';
import { openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('seal-ring');
});
afterAll(() => stack.close());

const source = (make: boolean, namespace = stack.namespace) =>
  sealSecret({ kube: stack.kube, namespace, make });

it('[F17] many bridges make one ring, which a worker waits for', async () => {
  await expect(source(false)()).rejects.toThrow(/drover-seal.*is not there; the bridge makes it/);
  const made = await Promise.all(Array.from({ length: 5 }, () => source(true)()));
  for (const entries of made) expect(entries).toEqual(made[0]);
  expect(await source(false)()).toEqual(made[0]);
  expect(parseSealKeys(made[0] ?? {})).toHaveLength(1);
});

it('[F17] a key is added as the manual says', async () => {
  const { id, value } = newSealKey(new Date(Date.now() + 60_000));
  const key = { apiVersion: 'v1', kind: 'Secret', namespace: stack.namespace, name: SEAL_SECRET };
  await stack.kube.patch(key, { stringData: { [id]: value } }, { kind: 'strategic' });
  expect(parseSealKeys(await source(true)()).map((one) => one.id)[0]).toBe(id);
});

it('[F17] where there is no namespace for it the message says what to do', async () => {
  await expect(source(true, 'nowhere')()).rejects.toThrow(/no namespace nowhere; apply deploy\/rbac/);
});
