import type { Sealer } from '../../../api/core/seal.js';
import type { RunDescription, RunMemo } from '../../../client/runs/runs.js';
import { packageVersion } from '../../../runtime/package-version.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';

const RELEASE = packageVersion();

const sealed = ({ seal: _, ...memo }: RunMemo): Omit<RunMemo, 'seal'> => memo;

/** The memo kept beside a run in Temporal, by which a bridge knows what another one has begun and not recorded. */
export function memoOf(
  { namespace, name, uid, snapshot }: RunIdentity,
  sealKey: string | undefined,
  sealer: Pick<Sealer, 'seal'>,
): RunMemo {
  const memo = {
    namespace,
    name,
    uid,
    snapshot,
    release: RELEASE,
    ...(sealKey !== undefined && { sealKey }),
  };
  return { ...memo, seal: sealer.seal('memo', memo) };
}

/**
 * The memo of a run that a bridge has begun; undefined for any other, whatever its id: that something runs under the id
 * of an execution does not show what it is to run.
 */
export async function vouchedMemo(
  found: RunDescription | undefined,
  uid: string,
  sealer: Pick<Sealer, 'verify'>,
): Promise<RunMemo | undefined> {
  const memo = found?.memo;
  if (memo?.uid !== uid) return undefined;
  const checked = await sealer.verify('memo', sealed(memo), memo.seal);
  return checked.kind === 'sealed' ? memo : undefined;
}
