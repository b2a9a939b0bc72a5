/** What holds of every story, good or spoilt. */
import fc from 'fast-check';
import { tell } from './bridge.js';
import type { Told } from './bridge.js';
import { diceOf } from './dice.js';
import { legalStory } from './model.js';
import type { Story } from './model.js';
import { spoil } from './spoil.js';

/** What was counted on the way. */
export interface Counts {
  stories: number;
  /** Objects that were put before admission: these are the cases. */
  objects: number;
  accepted: number;
  refused: number;
  /** Runs that began, and went as they were to go. */
  runs: number;
  /** Those among them that undid another. */
  reverts: number;
}

/** Reasons of plans that are let in although something is missing that may still come. */
const MAY_STILL_COME = /^(WorkflowNotFound|NestedPlanNotFound|NestedPlanInvalid):/;
/** What an odd story may ask the cluster for, and what this cluster does not have. */
const ASKS_THE_CLUSTER = /valueFrom|ValueNotFound/;

/** A story that went otherwise than it has to. */
export class Contradiction extends Error {
  override readonly name = 'Contradiction';
}

function judge(story: Story, told: readonly Told[], isLegal: boolean): void {
  for (const { kind, name, act, refused, wrong } of told) {
    const what = `${kind} "${name}"`;
    const fail = (message: string): never => {
      throw new Contradiction(`${what} ${message}\n${JSON.stringify(story)}`);
    };
    const { refusal } = act ?? {};
    if (isLegal && refusal !== undefined) {
      if (refused === '') fail(`must be refused (${refusal.join(' or ')}) and was let in`);
      if (!refusal.some((text) => refused.includes(text))) {
        fail(`must be refused because "${refusal.join('" or "')}", and was because: ${refused}`);
      }
      continue;
    }
    if (isLegal && refused !== '') fail(`is allowed by the data model and was refused: ${refused}`);
    if (wrong === undefined) continue;
    if (isLegal) fail(`is allowed by the data model and did not go well: ${wrong}`);
    if (kind === 'DRPlan' && MAY_STILL_COME.test(wrong)) continue;
    if (kind === 'DRPlanExecution' && ASKS_THE_CLUSTER.test(wrong)) continue;
    fail(`was let in, and then found to be wrong: ${wrong}`);
  }
}

/** One story, and what became of it. Every third one is as the data model allows. */
export function storyProperty(counts: Counts) {
  return fc.asyncProperty(fc.nat({ max: 2 }), fc.gen(), async (third, g) => {
    const dice = diceOf(g);
    const legal = legalStory(dice);
    const story = third === 0 ? legal : spoil(dice, legal);
    const told = await tell(story);
    counts.stories += 1;
    counts.objects += told.length;
    counts.refused += told.filter(({ refused }) => refused !== '').length;
    counts.accepted += told.filter(({ refused }) => refused === '').length;
    counts.runs += told.filter(
      ({ kind, refused, wrong }) => kind === 'DRPlanExecution' && refused === '' && wrong === undefined,
    ).length;
    counts.reverts += told.filter(({ isRevert, wrong }) => isRevert === true && wrong === undefined).length;
    judge(story, told, third === 0);
  });
}

/** Nothing counted yet. */
export const noCounts = (): Counts => ({
  stories: 0,
  objects: 0,
  accepted: 0,
  refused: 0,
  runs: 0,
  reverts: 0,
});
