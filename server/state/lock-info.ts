/** Locks as engines write and read them: the body of LOCK and UNLOCK, and of an answer that refuses one. */
import { z } from 'zod';
import { parseJson } from '../../api/core/json.js';
import type { WorkspaceRow } from '../../store/rows.js';

/** What an engine says of its lock. */
export interface LockInfo {
  ID: string;
  Operation: string;
  Info: string;
  Who: string;
  Version: string;
  Created: string;
  Path: string;
}

/** Body of LOCK and UNLOCK. Only the id decides something. */
export const lockBody = z.looseObject({ ID: z.string().min(1).max(200) });

/** Who holds a workspace, as an engine shows it to a person. */
export function holderOf({ held, locked }: Pick<WorkspaceRow, 'held' | 'locked'>): LockInfo {
  if (held === undefined) {
    return info({
      Operation: 'locked',
      Info: locked?.reason ?? '',
      Who: 'a person, by spec.locked',
      Created: locked?.since ?? '',
    });
  }
  switch (held.kind) {
    case 'user': {
      const said = lockBody.safeParse(parseJson(held.info)).data ?? {};
      return info({ ...said, ID: held.holder, Who: held.user, Created: held.since });
    }
    case 'run':
      return info({ ID: held.holder, Operation: 'run', Who: `run ${held.holder}`, Created: held.since });
    case 'recovery':
      return info({
        ...{ ID: held.holder, Operation: 'recovery', Info: held.reason },
        ...{ Who: `recovery of run ${held.holder}`, Created: held.since },
      });
  }
}

const info = (known: Partial<LockInfo>): LockInfo => ({
  ...{ ID: '', Operation: '', Info: '', Who: '', Version: '', Created: '', Path: '' },
  ...known,
});
