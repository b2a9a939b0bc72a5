/** Brings what an operation reads into its folder (T8.1). */
import { readFile, rename } from 'node:fs/promises';
import { secretTexts } from '../api/terraform/variables.js';
import type { ArtefactName, Variable } from '../api/terraform/operation-terms.js';
import type { Context } from './context.js';
import { Refused } from './refused.js';
import { untilAnswered } from './retry.js';
import { ServerRefused } from './server-client.js';

/**
 * Fetches an artefact into a file; one that the operation does not have leaves none.
 *
 * @returns whether there is one
 * @throws Refused `FetchFailed`
 */
export async function fetchArtefact(context: Context, name: ArtefactName, path: string): Promise<boolean> {
  const { order, client } = context;
  const digest = order.operation.inputs[name];
  if (digest === undefined) return false;
  const part = `${path}.part`;
  const found = await fetching(context, `artefact ${name}`, () => client.fetchArtefact(name, part));
  if (found !== digest) {
    throw new Refused({
      reason: 'FetchFailed',
      message: `artefact ${name} was stored with digest ${found}; the operation was given ${digest}`,
    });
  }
  await rename(part, path);
  return true;
}

/** Fetches the newest final state. @returns its digest; undefined where there is none */
export async function fetchState(context: Context, path: string): Promise<string | undefined> {
  const part = `${path}.part`;
  const digest = await fetching(context, 'the state', () => context.client.fetchState(part));
  if (digest !== undefined) await rename(part, path);
  return digest;
}

async function fetching<T>(
  { times, interruption }: Context,
  what: string,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await untilAnswered(ask, {
      forMs: times.transfer,
      isOver: () => interruption.cause() !== undefined,
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const refused = error instanceof ServerRefused ? `${error.reason}: ` : '';
    throw new Refused({ reason: 'FetchFailed', message: `${what}: ${refused}${message}` });
  }
}

/** Fetches the variables; from then on what is secret of them is in no log. */
export async function fetchVariables(context: Context): Promise<Variable[]> {
  const path = context.paths.variablesJson;
  if (!(await fetchArtefact(context, 'variables', path))) return [];
  const variables = JSON.parse(await readFile(path, 'utf8')) as Variable[];
  for (const text of secretTexts(variables)) context.secrets.add(text);
  return variables;
}
