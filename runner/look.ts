/** What has become of a runner: its lock against the processes that there are (T7.4, T7.5). */
import type { DeathProof } from '../api/terraform/operation.js';
import type { RunnerIdentity } from '../api/terraform/operation-terms.js';
import { bootId, processStart } from '../runtime/process-identity.js';
import { processesOfSession } from '../runtime/session.js';
import { readFolder, type FolderContent, type FolderPaths } from './folder.js';

/** What is found in a folder of this host. */
export type RunnerLook =
  /** No runner has taken it yet. */
  | { kind: 'free' }
  | { kind: 'running'; runner: RunnerIdentity }
  /** The runner is dead, and processes that it has started are not. */
  | { kind: 'orphaned'; runner: RunnerIdentity; processes: number[]; content: FolderContent }
  /** Nothing of it is alive. */
  | { kind: 'dead'; runner: RunnerIdentity; proof: DeathProof; content: FolderContent };

/** Looks at an operation's folder. On this host only: processes of another are not seen. */
export async function lookAtRunner(paths: FolderPaths): Promise<RunnerLook> {
  const { runner } = await readFolder(paths);
  if (runner === undefined) return { kind: 'free' };
  const is = await bootId();
  if (is !== runner.bootId) {
    const proof: DeathProof = { kind: 'otherBoot', was: runner.bootId, is };
    return { kind: 'dead', runner, proof, content: await readFolder(paths) };
  }
  if ((await processStart(runner.pid)) === runner.startTime) return { kind: 'running', runner };
  // The system gives the number of a session to no process while the session has one.
  const processes =
    (await processStart(runner.pid)) === undefined ? await processesOfSession(runner.pid) : [];
  // Read last: a runner that is dead writes nothing more.
  const content = await readFolder(paths);
  if (processes.length > 0) return { kind: 'orphaned', runner, processes, content };
  return { kind: 'dead', runner, proof: { kind: 'noProcess', bootId: is }, content };
}
