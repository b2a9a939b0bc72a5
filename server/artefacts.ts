/** Artefacts on their way in and out: bounded by what they are (T1.6). */
import type { IncomingMessage } from 'node:http';
import {
  MAX_ARCHIVE_BYTES,
  MAX_LOCK_FILE_BYTES,
  MAX_PLAN_BYTES,
  MAX_VARIABLES_BYTES,
} from '../api/terraform/bounds.js';
import type { StoredAnswer } from '../api/terraform/operation.js';
import { ARTEFACTS, type ArtefactName } from '../api/terraform/operation-terms.js';
import type { StateStore } from '../store/state-store.js';
import { readBytes, saidDigest } from './http/bodies.js';
import { Refusal } from './http/refusal.js';
import type { Answer } from './http/route.js';
import { artefactOf } from './runs/plans.js';

const MAX_BYTES: Record<ArtefactName, number> = {
  archive: MAX_ARCHIVE_BYTES,
  variables: MAX_VARIABLES_BYTES,
  lockFile: MAX_LOCK_FILE_BYTES,
  planFile: MAX_PLAN_BYTES,
  planJson: MAX_PLAN_BYTES,
  planLockFile: MAX_LOCK_FILE_BYTES,
};

/** The name of an artefact, one of some. @throws Refusal `BadRequest` */
export function artefactName(text: string, allowed: readonly ArtefactName[] = ARTEFACTS): ArtefactName {
  const name = allowed.find((each) => each === text);
  if (name === undefined)
    throw new Refusal(
      'BadRequest',
      `there is no artefact ${JSON.stringify(text)} here; allowed: ${allowed.join(', ')}`,
    );
  return name;
}

/** Stores an artefact of a run. @throws Refusal, StoreRefused */
export async function storeArtefact(
  { runs, contents }: StateStore,
  {
    run,
    workspace,
    name,
    request,
  }: { run: string; workspace: string; name: ArtefactName; request: IncomingMessage },
): Promise<StoredAnswer> {
  const accept = saidDigest(request);
  const content = await contents.keep(workspace, readBytes(request, MAX_BYTES[name]), accept);
  const { digest, bytes } = await runs.putArtefact(run, name, content);
  return { digest, bytes };
}

/** Gives out an artefact of a run. @throws Refusal `NotStored` */
export async function readArtefact(
  store: StateStore,
  { run, workspace, name }: { run: string; workspace: string; name: ArtefactName },
): Promise<Answer> {
  const row = await artefactOf(store, run, name);
  if (row === undefined) throw new Refusal('NotStored', `run ${run} has no ${name}`);
  const { digest, bytes } = row;
  return { kind: 'bytes', source: store.contents.read(workspace, row), digest, bytes };
}
