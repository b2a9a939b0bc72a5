/**
 * Loaded into a bridge or worker before all else: lets its clock jump. The file named by DROVER_FAULTS_CLOCK says by how
 * many milliseconds it is ahead; timers and the monotonic clock go on as they are, as with a real step.
 */
import { readFileSync } from 'node:fs';

const file = process.env.DROVER_FAULTS_CLOCK;
const RealDate = Date;
let aheadMs = 0;

function look(): void {
  try {
    aheadMs = Number(readFileSync(file ?? '', 'utf8')) || 0;
  } catch {
    aheadMs = 0;
  }
}

if (file !== undefined) {
  look();
  setInterval(look, 200).unref();
  class SteppedDate extends RealDate {
    constructor(...args: [] | [number | string | Date]) {
      if (args.length === 0) super(RealDate.now() + aheadMs);
      else super(...(args as [number]));
    }
    static override now(): number {
      return RealDate.now() + aheadMs;
    }
  }
  globalThis.Date = SteppedDate as DateConstructor;
}
