/**
 * Random sequences of actions on one object of the real API server, undone to the last byte. More cases of each kind with
 * DROVER_FUZZ_CASES (and --testTimeout), another beginning with DROVER_FUZZ_SEED.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { diceOf } from '../fuzz/dice.js';
import type { Dice } from '../fuzz/dice.js';
import { dataOf, faultOf, storyOf, tell, THINGS } from '../fuzz/undo/story.js';
import type { Kind } from '../fuzz/undo/story.js';
import { openBench } from '../support/attempts.js';
import type { Bench } from '../support/attempts.js';
import { servers } from '../support/servers.js';
import { poll } from '../support/stack.js';

const { DROVER_FUZZ_CASES: asked, DROVER_FUZZ_SEED: seed = '6' } = process.env;

let bench: Bench;
let things: Kind;
beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
  const group = `${bench.namespace}.example.org`;
  const anything = { 'x-kubernetes-preserve-unknown-fields': true };
  await bench.kube.create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                data: { type: 'object', additionalProperties: { type: 'string' } },
                spec: {
                  type: 'object',
                  ...anything,
                  properties: {
                    replicas: { type: 'integer', default: 1 },
                    type: { type: 'string', default: 'Local' },
                    open: { nullable: true, ...anything },
                  },
                },
              },
            },
          },
        },
      ],
    },
  });
  const identity = { apiVersion: `${group}/v1`, kind: 'Thing' };
  things = { ...THINGS, identity };
  await poll(
    () => bench.kube.resolve(identity.apiVersion, identity.kind, { anew: true }).catch(() => undefined),
    (found) => found !== undefined,
  );
});
afterAll(async () => {
  await bench.kube.delete({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    name: `things.${bench.namespace}.example.org`,
  });
  await bench.close();
});

const configMaps: Kind = {
  identity: { apiVersion: 'v1', kind: 'ConfigMap' },
  fields: dataOf,
  isBuiltIn: true,
};
/** Addresses and ports are handed out by the server, and taken back with the type. */
const services: Kind = {
  identity: { apiVersion: 'v1', kind: 'Service' },
  isBuiltIn: true,
  fields(dice: Dice) {
    const ports = () =>
      dice.list(1, 2, (index) => ({ name: `p${index}`, port: dice.int(80, 82) + 10 * index }));
    switch (dice.one(['External', 'Cluster', 'Node', 'Selector'] as const)) {
      case 'External':
        return { spec: { type: 'ExternalName', externalName: 'site-b.example.org' } };
      case 'Cluster':
        return { spec: { type: 'ClusterIP', externalName: null, ports: ports() } };
      case 'Node':
        return { spec: { type: 'NodePort', externalName: null, ports: ports() } };
      case 'Selector':
        return { spec: { selector: { app: dice.one(['a', 'b']) }, ports: ports() } };
    }
  },
};

it.each<[string, () => Kind, number]>([
  ['ConfigMap', () => configMaps, 8],
  ['Service', () => services, 8],
  ['kind of its own', () => things, 8],
])('[F6] sequences of actions on a %s are undone to the last byte [S3.17]', async (what, kindOf, cases) => {
  const kind = kindOf();
  let number = 0;
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(fc.gen(), async (g) => {
      const story = storyOf(diceOf(g), kind, 4);
      const name = `${what.toLowerCase().replaceAll(' ', '-')}-${(number += 1)}`;
      const told = await tell(story, { bench, kind, name });
      steps += told.results.filter((result) => result.kind === 'succeeded').length;
      const fault = faultOf(told);
      if (fault !== undefined) throw new Error(`${fault}\n${JSON.stringify(story)}`);
      // Services take addresses, and there are only some hundred of them.
      await bench.kube.delete({ ...kind.identity, namespace: bench.namespace, name });
    }),
    { numRuns: Number(asked ?? cases), seed: Number(seed) },
  );
  expect(steps).toBeGreaterThan(cases);
});
