import type { VouchOutcome, VouchTask } from '../../workflows/plan/contract-tasks.js';
import { NotVouched, NotYetVouched, tryVouchedAgain } from './vouching.js';
import type { Vouching } from './vouching.js';

/**
 * Whether an answer that a stage received comes from the bridge: whoever reaches only Temporal cannot approve anything.
 *
 * @throws ApplicationFailure while nobody vouches for the run or the answer, and that may change
 */
export async function vouchFor({ run, stage, answer }: VouchTask, vouching: Vouching): Promise<VouchOutcome> {
  try {
    await vouching.run(run, stage);
    await vouching.answer(run, answer);
    return { kind: 'vouched' };
  } catch (error) {
    if (error instanceof NotVouched) return { kind: 'refused', message: error.message };
    if (error instanceof NotYetVouched) throw tryVouchedAgain(error);
    throw error;
  }
}
