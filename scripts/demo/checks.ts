import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ActionStatus, DRPlanExecution } from '../../api/plan/types.js';
import type { Effects } from '../../examples/traffic-manager/server.js';
import type { KubeClient } from '../../kube/client.js';
import { readEffects, readExecution, readJobs, readPlan, readShop } from './shop.js';
import type { Shop } from './shop.js';

/** One thing that was looked at. */
export interface Check {
  what: string;
  ok: boolean;
  /** What was wrong. */
  problem?: string;
}

/** Where to look. */
export interface Places {
  kube: KubeClient;
  trafficManager: string;
}

/** Clusternet takes what is no longer wanted away in its own time. */
const EFFECTS_MS = 5000;

/** Reads every effect of the switchover back. */
export async function checkSwitchover(places: Places, name: string): Promise<Check[]> {
  const { kube, trafficManager } = places;
  const shop = await shopOnce(places, (found) => Object.keys(found.deployed).length === 1);
  const [execution, plan, jobs, effects] = await Promise.all([
    readExecution(kube, name),
    readPlan(kube),
    readJobs(kube),
    readEffects(trafficManager),
  ]);
  const actions = actionsOf(execution);
  const localization = shop.localizations['clusternet-site-b/shop-web'] as
    | { overridePolicy?: string }
    | undefined;
  return [
    equal(
      'execution Succeeded, condition Succeeded=True',
      { phase: 'Succeeded', condition: 'True' },
      outcomeOf(execution),
    ),
    equal(
      'all 12 actions Succeeded',
      Array<string>(12).fill('Succeeded'),
      actions.map(({ phase }) => phase),
    ),
    expect(
      'wait-drained was retried until the last session had ended',
      (actions.find((action) => action.name === 'wait-drained')?.retryCount ?? 0) > 0,
      'it was not retried',
    ),
    equal('plan Executed and free', { phase: 'Executed', current: undefined }, planOf(plan)),
    equal('traffic: all to site-b, maintenance off', trafficTo('site-b'), shop.traffic),
    ...checkEffects(effects, execution, { forward: 4, undo: 0 }),
    equal(
      '2 Jobs, both Complete',
      [true, true],
      jobs.map(({ complete }) => complete),
    ),
    equal(
      'ConfigMaps name site-b; the notice is there',
      {
        'shop-config': { 'active-site': 'site-b', currency: 'EUR' },
        'shop-endpoints': {
          database: 'db.site-b.shop.example:5432',
          images: 'https://images.site-b.shop.example',
        },
        'shop-switchover-notice': { text: 'Served from site-b by plan shop-switchover.' },
      },
      shop.configuration,
    ),
    equal('Subscription names site-b alone', ['site-b'], shop.subscribed),
    equal('Subscription is bound to site-b alone', ['clusternet-site-b/site-b'], shop.bound),
    equal('Localization of site-b applies now', 'ApplyNow', localization?.overridePolicy),
    equal(
      'Description: site-b runs 4 localized replicas, site-a nothing',
      { 'clusternet-site-b': { phase: 'Success', site: 'site-b', replicas: 4 } },
      shop.deployed,
    ),
  ];
}

/** Compares everything with what it was before the switchover. */
export async function checkRevert(
  places: Places,
  names: { execution: string; revert: string },
  before: Shop,
): Promise<Check[]> {
  const { kube, trafficManager } = places;
  const shop = await shopOnce(places, (found) => isDeepStrictEqual(found, before));
  const [execution, revert, plan, jobs, effects] = await Promise.all([
    readExecution(kube, names.execution),
    readExecution(kube, names.revert),
    readPlan(kube),
    readJobs(kube),
    readEffects(trafficManager),
  ]);
  return [
    equal(
      'revert Succeeded, condition Succeeded=True',
      { phase: 'Succeeded', condition: 'True' },
      outcomeOf(revert),
    ),
    equal('condition FullyReverted=True', 'True', conditionOf(revert, 'FullyReverted')),
    equal('the execution names its revert', names.revert, execution.status?.revertedBy?.name),
    equal('plan Ready again and free', { phase: 'Ready', current: undefined }, planOf(plan)),
    equal('history: the revert, then the execution', [names.revert, names.execution], historyOf(plan)),
    ...checkEffects(effects, execution, { forward: 4, undo: 4 }),
    equal(
      '4 Jobs, the undoing ones too, all Complete',
      Array<boolean>(4).fill(true),
      jobs.map(({ complete }) => complete),
    ),
    equal('traffic as before', before.traffic, shop.traffic),
    equal('ConfigMaps as before, the notice is gone', before.configuration, shop.configuration),
    equal('Subscription as before', [before.subscribed, before.bound], [shop.subscribed, shop.bound]),
    equal('Localizations as before', before.localizations, shop.localizations),
    equal('Descriptions as before', before.deployed, shop.deployed),
  ];
}

/** The example must begin from what its set-up says, or the later comparison would prove nothing. */
export async function checkSetUp(places: Places): Promise<{ checks: Check[]; shop: Shop }> {
  const shop = await shopOnce(places, (found) => found.deployed['clusternet-site-a']?.phase === 'Success');
  return {
    shop,
    checks: [
      equal('traffic: all to site-a, maintenance off', trafficTo('site-a'), shop.traffic),
      equal(
        'site-a runs 6 replicas, site-b nothing',
        { 'clusternet-site-a': { phase: 'Success', site: '', replicas: 6 } },
        shop.deployed,
      ),
    ],
  };
}

async function shopOnce(places: Places, done: (shop: Shop) => boolean): Promise<Shop> {
  const deadline = Date.now() + EFFECTS_MS;
  for (;;) {
    const shop = await readShop(places.kube, places.trafficManager);
    if (done(shop) || Date.now() > deadline) return shop;
    await sleep(100);
  }
}

function checkEffects(
  { effects, duplicates, unkeyed }: Effects,
  execution: DRPlanExecution,
  wanted: { forward: number; undo: number },
): Check[] {
  const uid = execution.metadata.uid ?? '';
  const count = (direction: string): number =>
    effects.filter(({ key }) => key.startsWith(`${uid}/`) && key.includes(`/${direction}/`)).length;
  const times = wanted.undo === 0 ? `${wanted.forward}` : `${wanted.forward} + ${wanted.undo}`;
  return [
    equal(
      `traffic manager: ${times} effects under this run's keys, no others`,
      { ...wanted, others: 0, unkeyed: 0 },
      {
        forward: count('forward'),
        undo: count('undo'),
        others: effects.length - count('forward') - count('undo'),
        unkeyed,
      },
    ),
    equal('traffic manager: each was asked for once', [], duplicates),
  ];
}

const trafficTo = (site: string): Shop['traffic'] => ({
  weights: { 'site-a': site === 'site-a' ? 100 : 0, 'site-b': site === 'site-b' ? 100 : 0 },
  maintenance: false,
});

const conditionOf = (execution: DRPlanExecution, type: string): string | undefined =>
  execution.status?.conditions?.find((condition) => condition.type === type)?.status;

const outcomeOf = (execution: DRPlanExecution): unknown => ({
  phase: execution.status?.phase,
  condition: conditionOf(execution, 'Succeeded'),
});

const planOf = (plan: Awaited<ReturnType<typeof readPlan>>): unknown => ({
  phase: plan.status?.phase,
  current: plan.status?.currentExecution?.name,
});

const historyOf = (plan: Awaited<ReturnType<typeof readPlan>>): string[] =>
  (plan.status?.executionHistory ?? []).map(({ name }) => name);

const actionsOf = (execution: DRPlanExecution): ActionStatus[] =>
  (execution.status?.stageStatuses ?? [])
    .flatMap((stage) => stage.workflowExecutions ?? [])
    .flatMap((workflow) => workflow.actionStatuses ?? []);

const equal = (what: string, expected: unknown, found: unknown): Check =>
  expect(
    what,
    isDeepStrictEqual(expected, found),
    `expected ${JSON.stringify(expected)}, found ${JSON.stringify(found) ?? 'nothing'}`,
  );

const expect = (what: string, ok: boolean, problem: string): Check =>
  ok ? { what, ok } : { what, ok, problem };
