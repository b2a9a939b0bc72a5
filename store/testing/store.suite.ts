/** What every place that a store may be in has to do: one suite for all of them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKeyRing, type KeyRing } from '../../runtime/encryption/key-ring.js';
import type { Backend } from '../backend.js';
import type { StoreRefused } from '../refused.js';
import { openStateStore, type StateStore } from '../state-store.js';
import type { NewState } from '../versions.js';

/** A place for stores. */
export interface Place {
  /** Opens it once more, as another program would after this one has ended. */
  open(): Promise<Backend>;
  /** Changes some bytes of all blobs, as a disk or a stranger would. */
  damageBlobs(): Promise<void>;
}

const HOUR_MS = 60 * 60 * 1000;
const STREAMS = ['out', 'err'];

/** A ring of one key. */
const ringOf = (keys: Record<string, Buffer>, active: string): Promise<KeyRing> =>
  openKeyRing({
    source: () =>
      Promise.resolve({
        active,
        ...Object.fromEntries(Object.entries(keys).map(([id, key]) => [id, key.toString('base64')])),
      }),
    onFault: () => undefined,
  });

async function* bytesOf(text: string | Buffer): AsyncIterable<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

async function textOf(source: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: StoreRefused) => error.reason ?? error.name,
  );

/** Describes the suite for a place that is made anew for each test. */
export function describeStore(title: string, makePlace: () => Promise<Place>): void {
  describe(title, () => {
    let place: Place;
    let ring: KeyRing;
    let store: StateStore;
    let workspace: string;
    let now: Date;
    const keys = { k1: randomBytes(32) };

    const open = async (): Promise<StateStore> =>
      openStateStore({
        backend: await place.open(),
        ring,
        streams: STREAMS,
        maxLogBytes: 1024 ** 2,
        now: () => now,
      });
    const reopen = async (): Promise<void> => {
      await store.close();
      store = await open();
    };

    beforeEach(async () => {
      place = await makePlace();
      ring = await ringOf(keys, 'k1');
      now = new Date();
      store = await open();
      workspace = randomUUID();
    });
    afterEach(() => store.close());

    const later = (ms: number): void => {
      now = new Date(now.getTime() + ms);
    };

    async function stateOf(serial: number, text = `state ${serial}`, lineage = 'l'): Promise<NewState> {
      const content = await store.contents.keep(workspace, bytesOf(text));
      const facts = { lineage, serial, engineVersion: '1.0.0', bytes: content.bytes };
      return { content, facts, resourceCount: serial };
    }

    const runner = (pid = 1) => ({ hostId: 'h', bootId: 'b', pid, startTime: '1' });
    const PLAN_DIGEST = 'd'.repeat(64);

    /** A run that has the slot, with an apply that may begin. */
    async function preparedApply(): Promise<{ run: string; apply: string; turn: number }> {
      const run = randomUUID();
      await store.runs.pin(run, workspace, {});
      const { turn } = await store.slots.slot(workspace);
      const granted = await store.slots.grant(workspace, { run, turn, reconcile: false });
      const [plan, apply] = [`${run}-plan-1`, `${run}-apply`];
      await store.operations.prepare({ id: plan, run, kind: 'plan', spec: {}, hostId: 'h' });
      await store.operations.prepare({ id: apply, run, kind: 'apply', spec: {}, hostId: 'h' });
      await store.runs.putOnce(run, 'permit', { planDigest: PLAN_DIGEST });
      return { run, apply, turn: granted.turn };
    }

    const beginOf = async (nonce = 'n') => {
      const newest = await store.versions.newest(workspace);
      const { lineage = '', serial = 0 } = newest?.facts ?? {};
      return { nonce, runner: runner(), lineage, serial, planDigest: PLAN_DIGEST };
    };

    async function startedApply() {
      const prepared = await preparedApply();
      await store.operations.begin(prepared.apply, await beginOf());
      return prepared;
    }

    describe('contents', () => {
      it('come back as they were, whatever their size, after it was opened anew [T9.1]', async () => {
        const sizes = [0, 1, 1024 ** 2, 1024 ** 2 + 1, 2 * 1024 ** 2 + 5];
        const all = await Promise.all(
          sizes.map(async (size) => {
            const bytes = randomBytes(size);
            return { bytes, content: await store.contents.keep(workspace, bytesOf(bytes)) };
          }),
        );
        await reopen();
        for (const { bytes, content } of all) {
          const chunks: Uint8Array[] = [];
          for await (const chunk of store.contents.read(workspace, content)) chunks.push(chunk);
          expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
        }
      });

      it('of another workspace, or under the row of another content, do not open [T9.1]', async () => {
        const one = await store.contents.keep(workspace, bytesOf('one'));
        const other = await store.contents.keep(workspace, bytesOf('two'));
        await expect(textOf(store.contents.read(workspace, { ...one, blob: other.blob }))).rejects.toThrow(
          /another one than its row says/,
        );
        await expect(textOf(store.contents.read(randomUUID(), one))).rejects.toThrow();
      });

      it('that were changed are never given out [T9.1]', async () => {
        const kept = await store.contents.keep(workspace, bytesOf('the state'));
        await place.damageBlobs();
        await expect(textOf(store.contents.read(workspace, kept))).rejects.toThrow(/does not open/);
      });

      it('whose source breaks off leave nothing', async () => {
        const broken = async function* (): AsyncIterable<Uint8Array> {
          yield* bytesOf('half of it');
          throw new Error('cut');
        };
        await expect(store.contents.keep(workspace, broken())).rejects.toThrow('cut');
        await expect(
          store.contents.keep(workspace, bytesOf('x'), () => {
            throw new Error('not wanted');
          }),
        ).rejects.toThrow('not wanted');
      });

      it('that no row names go after a day, and others stay [T9.3]', async () => {
        const { apply } = await startedApply();
        const named = await store.versions.addTemp(workspace, apply, await stateOf(1));
        await store.versions.makeFinal(workspace, apply, named.content.digest);
        const orphan = await store.contents.keep(workspace, bytesOf('nobody’s'));
        later(23 * HOUR_MS);
        await store.sweep();
        expect(await textOf(store.contents.read(workspace, orphan))).toBe('nobody’s');
        later(2 * HOUR_MS);
        await store.sweep();
        await expect(textOf(store.contents.read(workspace, orphan))).rejects.toThrow(/is not there/);
        expect(await textOf(store.contents.read(workspace, named.content))).toBe('state 1');
      });
    });

    describe('keys', () => {
      it('a ring that lacks a key that was used, or has another of its name, opens nothing [T9.1]', async () => {
        await stateOf(1);
        await store.close();
        ring = await ringOf({ k2: randomBytes(32) }, 'k2');
        await expect(open()).rejects.toThrow(/"k1", which is not in the ring/);
        ring = await ringOf({ k1: randomBytes(32) }, 'k1');
        await expect(open()).rejects.toThrow(/"k1" is another one/);
        ring = await ringOf({ ...keys, k2: randomBytes(32) }, 'k2');
        store = await open();
        const fresh = await stateOf(2);
        expect(fresh.content.keyed).toMatch(/^k2:/);
      });
    });

    describe('the slot', () => {
      it('is one run’s, by compare-and-set; its turn rises and never falls [T3.3]', async () => {
        const runs = [randomUUID(), randomUUID(), randomUUID()];
        const ends = await Promise.all(
          runs.map((run) => reasonOf(store.slots.grant(workspace, { run, turn: 0, reconcile: false }))),
        );
        expect(ends.filter((end) => end === 'done')).toHaveLength(1);
        const { held, turn } = await store.slots.slot(workspace);
        expect(turn).toBe(1);
        const run = held!.holder;
        // Said again after a lost answer.
        expect(await store.slots.grant(workspace, { run, turn: 0, reconcile: false })).toMatchObject({
          turn: 1,
        });
        expect(await reasonOf(store.slots.release(workspace, { run, turn: 0, to: { kind: 'free' } }))).toBe(
          'OtherTurn',
        );
        await store.slots.release(workspace, { run, turn: 1, to: { kind: 'free' } });
        await store.slots.release(workspace, { run, turn: 1, to: { kind: 'free' } });
        await reopen();
        const free = await store.slots.slot(workspace);
        expect(free).toMatchObject({ turn: 1 });
        expect(free.held).toBeUndefined();
      });

      it('is not granted while a person has locked the workspace [T3.2]', async () => {
        const object = { namespace: 'n', name: 'w' };
        await store.slots.describe(workspace, { object, locked: { reason: 'a move' } });
        const grant = { run: randomUUID(), turn: 0, reconcile: false };
        expect(await reasonOf(store.slots.grant(workspace, grant))).toBe('Locked');
        const lock = { id: 'i', info: '{}', user: 'u', mayMend: true };
        expect(await store.slots.lock(workspace, lock)).toMatchObject({ kind: 'held' });
        await store.slots.describe(workspace, { object });
        expect(await reasonOf(store.slots.grant(workspace, grant))).toBe('done');
      });

      it('in recovery is for runs that reconcile, and for people who may mend, who give it back [T8.8] [T9.2]', async () => {
        const run = randomUUID();
        await store.slots.grant(workspace, { run, turn: 0, reconcile: false });
        await store.slots.release(workspace, {
          run,
          turn: 1,
          to: { kind: 'recovery', reason: 'RunnerLost' },
        });
        const other = { run: randomUUID(), turn: 1 };
        expect(await reasonOf(store.slots.grant(workspace, { ...other, reconcile: false }))).toBe(
          'NotHolder',
        );
        const lock = { id: 'i', info: '{"ID":"i"}', user: 'u' };
        expect(await store.slots.lock(workspace, { ...lock, mayMend: false })).toMatchObject({
          kind: 'held',
        });
        expect(await store.slots.lock(workspace, { ...lock, mayMend: true })).toEqual({ kind: 'locked' });
        await store.slots.unlock(workspace, 'i');
        expect(await store.slots.slot(workspace)).toMatchObject({
          turn: 2,
          held: { kind: 'recovery', holder: run, reason: 'RunnerLost' },
        });
        expect(await reasonOf(store.slots.grant(workspace, { ...other, turn: 2, reconcile: true }))).toBe(
          'done',
        );
      });

      it('that a person has by a lock is given back by that lock, or by force; a run’s never [T9.2]', async () => {
        const lock = { id: 'one', info: '{}', user: 'u', mayMend: false };
        expect(await store.slots.lock(workspace, lock)).toEqual({ kind: 'locked' });
        expect(await store.slots.lock(workspace, lock)).toEqual({ kind: 'locked' });
        expect(await store.slots.lock(workspace, { ...lock, id: 'two' })).toMatchObject({ kind: 'held' });
        expect(await reasonOf(store.slots.unlock(workspace, 'two'))).toBe('NotHolder');
        await store.slots.unlock(workspace, 'one');
        await store.slots.lock(workspace, lock);
        await store.slots.unlock(workspace, undefined);
        const { turn } = await store.slots.slot(workspace);
        await store.slots.grant(workspace, { run: randomUUID(), turn, reconcile: false });
        expect(await reasonOf(store.slots.unlock(workspace, undefined))).toBe('NotHolder');
        await store.slots.free(workspace, turn + 1);
        expect((await store.slots.slot(workspace)).held).toBeUndefined();
      });
    });

    describe('runs', () => {
      it('what is said first of pin, permit and artefacts counts, for ever [T5.1] [T6.5]', async () => {
        const run = randomUUID();
        expect(await reasonOf(store.runs.pinOf(run))).toBe('UnknownRun');
        await store.runs.pin(run, workspace, { first: true });
        expect(await store.runs.pin(run, workspace, { first: false })).toMatchObject({
          pin: { first: true },
        });
        expect(await reasonOf(store.runs.pin(run, randomUUID(), {}))).toBe('BadRequest');
        const said = await Promise.all(
          ['a', 'b'].map((planDigest) => store.runs.putOnce(run, 'permit', { planDigest })),
        );
        expect(said[0]).toEqual(said[1]);
        const keep = (text: string) => store.contents.keep(workspace, bytesOf(text));
        const stored = await store.runs.putArtefact(run, 'planFile', await keep('plan'));
        expect(await store.runs.putArtefact(run, 'planFile', await keep('plan'))).toEqual(stored);
        expect(await reasonOf(store.runs.putArtefact(run, 'planFile', await keep('other')))).toBe(
          'OtherDigest',
        );
        expect(await textOf(store.contents.read(workspace, stored))).toBe('plan');
        await reopen();
        expect(await store.runs.artefacts(run)).toEqual([stored]);
      });

      it('that are over go after seven days, but for what the last apply had; none is pinned anew [T5.1]', async () => {
        const plain = randomUUID();
        await store.runs.pin(plain, workspace, {});
        await store.runs.putArtefact(plain, 'archive', await store.contents.keep(workspace, bytesOf('a')));
        const { run: applied } = await startedApply();
        const kept = await store.contents.keep(workspace, bytesOf('b'));
        await store.runs.putArtefact(applied, 'planLockFile', kept);
        for (const run of [plain, applied]) await store.runs.finish(run);
        later(7 * 24 * HOUR_MS - 1);
        await store.sweep();
        expect(await store.runs.artefacts(plain)).toHaveLength(1);
        later(2);
        await store.sweep();
        expect(await reasonOf(store.runs.pinOf(plain))).toBe('UnknownRun');
        expect(await reasonOf(store.runs.pin(plain, workspace, {}))).toBe('UnknownRun');
        expect(await textOf(store.contents.read(workspace, kept))).toBe('b');
      });
    });

    describe('operations', () => {
      it('go forward only: prepared, started, ended; or revoked before; or lost after [T7.1]', async () => {
        const { apply } = await preparedApply();
        const result = { ok: true };
        expect(
          await reasonOf(store.operations.end(apply, { runner: runner(), result, hasBegun: true })),
        ).toBe('BadRequest');
        expect(await reasonOf(store.operations.lose(apply, { proof: {} }))).toBe('BadRequest');
        await store.operations.begin(apply, await beginOf());
        expect(await reasonOf(store.operations.revoke(apply, 'late'))).toBe('Begun');
        expect(
          await reasonOf(store.operations.end(apply, { runner: runner(2), result, hasBegun: true })),
        ).toBe('OtherRunner');
        for (let i = 0; i < 2; i += 1)
          await store.operations.end(apply, { runner: runner(), result, hasBegun: true });
        expect(
          await reasonOf(store.operations.end(apply, { runner: runner(), result: {}, hasBegun: true })),
        ).toBe('Ended');
        await reopen();
        const { operation } = await store.operations.operation(apply);
        expect(operation.record).toMatchObject({ state: 'ended', result });
      });

      it('that are revoked never begin, and their runner is told; those that are lost are not resumed [T7.1] [T7.5]', async () => {
        const { apply } = await preparedApply();
        await store.operations.revoke(apply, 'cancelled');
        expect(await reasonOf(store.operations.begin(apply, await beginOf()))).toBe('Revoked');
        const { operation } = await store.operations.operation(apply);
        expect(operation.control.interrupt).toEqual({ by: 'revoked', reason: 'cancelled' });

        workspace = randomUUID();
        const lost = (await startedApply()).apply;
        await store.operations.lose(lost, { proof: { kind: 'released' }, release: { reason: 'no host' } });
        expect(
          await reasonOf(store.operations.end(lost, { runner: runner(), result: {}, hasBegun: true })),
        ).toBe('Ended');
        const after = await store.operations.operation(lost);
        expect(after.operation.control.interrupt).toEqual({ by: 'released', reason: 'no host' });
      });

      it('begin for one nonce, however often, and for no other; of many at once one begins [T8.2]', async () => {
        const { apply } = await preparedApply();
        const nonces = ['a', 'b', 'c', 'd'];
        const ends = await Promise.all(
          nonces.map(async (nonce) => reasonOf(store.operations.begin(apply, await beginOf(nonce)))),
        );
        expect([...ends].sort()).toEqual(['OtherNonce', 'OtherNonce', 'OtherNonce', 'done']);
        const winner = nonces[ends.indexOf('done')];
        await reopen();
        expect(await reasonOf(store.operations.begin(apply, await beginOf(winner)))).toBe('done');
        expect(await reasonOf(store.operations.begin(apply, await beginOf('e')))).toBe('OtherNonce');
        await store.operations.end(apply, { runner: runner(), result: {}, hasBegun: true });
        const again = await store.operations.begin(apply, await beginOf(winner));
        expect(again.operation.record.state).toBe('ended');
      });

      it('of an apply begin with permit, slot, turn and state only, and in no locked workspace [T8.2]', async () => {
        const { run, apply, turn } = await preparedApply();
        const begin = async (more: object = {}) =>
          reasonOf(store.operations.begin(apply, { ...(await beginOf()), ...more }));
        expect(await begin({ planDigest: 'e'.repeat(64) })).toBe('NoPermit');
        expect(await begin({ planDigest: undefined })).toBe('NoPermit');
        expect(await begin({ serial: 1 })).toBe('StaleState');
        const object = { namespace: 'n', name: 'w' };
        await store.slots.describe(workspace, { object, locked: { reason: 'a move' } });
        expect(await begin()).toBe('Locked');
        await store.slots.describe(workspace, { object });
        await store.slots.release(workspace, { run, turn, to: { kind: 'free' } });
        expect(await begin()).toBe('NotHolder');
        await store.slots.grant(workspace, { run, turn, reconcile: false });
        expect(await begin()).toBe('OtherTurn');

        const bare = randomUUID();
        await store.runs.pin(bare, workspace, {});
        const id = `${bare}-apply`;
        await store.operations.prepare({ id, run: bare, kind: 'apply', spec: {}, hostId: 'h' });
        expect(await reasonOf(store.operations.begin(id, await beginOf()))).toBe('NoPermit');
      });

      it('are told of by their one runner: its output once, however it is sent [T7.3]', async () => {
        const { apply } = await startedApply();
        const sync = (offset: number, text: string, pid = 1) =>
          store.operations.sync(apply, {
            ...{ runner: runner(pid), step: 'applying', moves: [] },
            log: { out: { offset, text }, err: undefined },
          });
        expect((await sync(0, 'one\n')).log).toEqual({ out: 4, err: 0 });
        expect((await sync(0, 'one\ntwo\n')).log.out).toBe(8);
        expect((await sync(20, 'too far')).log.out).toBe(8);
        expect((await sync(8, 'ü\n')).log.out).toBe(11);
        expect(await reasonOf(sync(11, 'x', 2))).toBe('OtherRunner');
        await reopen();
        expect(await textOf(store.operations.log(apply, 'out', 0))).toBe('one\ntwo\nü\n');
        expect(await textOf(store.operations.log(apply, 'out', 4))).toBe('two\nü\n');
      });

      it('are heard from while they wait: a change is told, a heartbeat is none [T7.3]', async () => {
        const { apply } = await startedApply();
        let changes = 0;
        const end = store.onChange(apply, () => {
          changes += 1;
        });
        const sync = (step: string) =>
          store.operations.sync(apply, { runner: runner(), step, moves: [], log: {} });
        await sync('applying');
        const first = await store.operations.operation(apply);
        later(1000);
        await sync('applying');
        const second = await store.operations.operation(apply);
        expect(second.revision).toBe(first.revision);
        expect(second.beat!.at > first.beat!.at).toBe(true);
        await store.operations.control(apply, { interrupt: { by: 'request', reason: 'r' } });
        await store.operations.control(apply, { kill: { reason: 'k' } });
        expect((await sync('applying')).control).toEqual({
          interrupt: { by: 'request', reason: 'r' },
          kill: { reason: 'k' },
        });
        end();
        expect(changes).toBeGreaterThanOrEqual(3);
      });

      it('kill nothing before it was interrupted [T7.7]', async () => {
        const { apply } = await startedApply();
        expect(await reasonOf(store.operations.control(apply, { kill: { reason: 'k' } }))).toBe('BadRequest');
      });
    });

    describe('versions', () => {
      it('a content becomes final once, and is read back; the newest three beside it stay a day [T8.4] [T8.6] [T9.3]', async () => {
        const { apply } = await startedApply();
        for (const serial of [1, 2, 3, 4, 5])
          await store.versions.addTemp(workspace, apply, await stateOf(serial));
        const digest = (await store.versions.list(workspace)).at(-1)!.content.digest;
        for (let i = 0; i < 2; i += 1)
          expect(await store.versions.makeFinal(workspace, apply, digest)).toMatchObject({ kind: 'final' });
        expect(await reasonOf(store.versions.makeFinal(workspace, apply, '0'.repeat(64)))).toBe('NotStored');
        await reopen();
        const newest = await store.versions.newest(workspace);
        expect(newest).toMatchObject({ facts: { serial: 5 }, turn: 1, by: { operation: apply } });
        expect(await textOf(store.versions.read(workspace, newest!))).toBe('state 5');
        const all = await store.versions.list(workspace);
        expect(all.map(({ facts, kind }) => `${kind} ${facts.serial}`)).toEqual([
          'temp 3',
          'temp 4',
          'final 5',
        ]);
        later(24 * HOUR_MS + 1);
        await store.sweep();
        expect(await store.versions.list(workspace)).toHaveLength(1);
        expect(await textOf(store.versions.read(workspace, newest!))).toBe('state 5');
      });

      it('another lineage and a lower serial are refused, equal bytes are one version [T8.4]', async () => {
        const { apply } = await startedApply();
        const { content } = await store.versions.addTemp(workspace, apply, await stateOf(3));
        await store.versions.addTemp(workspace, apply, await stateOf(3));
        await store.versions.makeFinal(workspace, apply, content.digest);
        const add = async (state: NewState) => reasonOf(store.versions.addTemp(workspace, apply, state));
        expect(await add(await stateOf(4, 'x', 'other'))).toBe('StateRefused');
        expect(await add(await stateOf(2))).toBe('StateRefused');
        expect(await store.versions.list(workspace)).toHaveLength(1);
      });

      it('of an apply that has not begun, or of a plan, none is taken [T8.4]', async () => {
        const { run, apply } = await preparedApply();
        expect(await reasonOf(store.versions.addTemp(workspace, apply, await stateOf(1)))).toBe('BadRequest');
        const plan = `${run}-plan-1`;
        expect(await reasonOf(store.versions.addTemp(workspace, plan, await stateOf(1)))).toBe('BadRequest');
      });

      it('what a released operation brings is late: kept aside 30 days, never the newest [T7.5]', async () => {
        const { apply, turn } = await startedApply();
        const first = await store.versions.addTemp(workspace, apply, await stateOf(1));
        await store.versions.makeFinal(workspace, apply, first.content.digest);
        await store.slots.free(workspace, turn);
        const late = await store.versions.addTemp(workspace, apply, await stateOf(2));
        expect(late.kind).toBe('late');
        expect(await store.versions.makeFinal(workspace, apply, late.content.digest)).toMatchObject({
          kind: 'late',
        });
        expect(await store.versions.newest(workspace)).toMatchObject({ facts: { serial: 1 } });
        later(29 * 24 * HOUR_MS);
        await store.sweep();
        expect(await textOf(store.versions.read(workspace, late))).toBe('state 2');
        later(2 * 24 * HOUR_MS);
        await store.sweep();
        expect(await store.versions.list(workspace)).toHaveLength(1);
      });

      it('a person stores under the lock alone: a higher serial, or equal bytes [T9.2]', async () => {
        const by = { lock: 'i', user: 'u' };
        const add = async (state: NewState, how = by) =>
          reasonOf(store.versions.addByPerson(workspace, how, state));
        expect(await add(await stateOf(1))).toBe('NotHolder');
        await store.slots.lock(workspace, { id: 'i', info: '{}', user: 'u', mayMend: false });
        expect(await add(await stateOf(1))).toBe('done');
        expect(await add(await stateOf(1))).toBe('done');
        expect(await add(await stateOf(1, 'other bytes'))).toBe('StateRefused');
        expect(await add(await stateOf(0))).toBe('StateRefused');
        expect(await add(await stateOf(2, 'x', 'other'))).toBe('StateRefused');
        expect(await add(await stateOf(2), { ...by, lock: 'j' })).toBe('NotHolder');
        expect(await store.versions.list(workspace)).toHaveLength(1);
      });

      it('a hundred final ones are kept [T9.3]', async () => {
        await store.slots.lock(workspace, { id: 'i', info: '{}', user: 'u', mayMend: false });
        for (let serial = 1; serial <= 103; serial += 1)
          await store.versions.addByPerson(workspace, { lock: 'i', user: 'u' }, await stateOf(serial));
        const all = await store.versions.list(workspace);
        expect(all.map(({ facts }) => facts.serial)).toEqual(Array.from({ length: 100 }, (_, i) => i + 4));
      });
    });
  });
}
