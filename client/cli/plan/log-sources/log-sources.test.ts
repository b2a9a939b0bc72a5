import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { entryKey, sortEntries } from './entry.js';
import { eventEntry } from './events.js';
import { logLineEntry, readLogFiles } from './files.js';
import { createStory } from './history.js';
import { statusEntries } from './status.js';

const at = (second: number): string => `2026-01-01T10:00:0${second}Z`;

describe('entries from status', () => {
  it('tell starts and ends of everything, the inner inside the outer', () => {
    const execution: DRPlanExecution = {
      metadata: { name: 'web-1', creationTimestamp: at(0) },
      spec: { planRef: 'web', operationType: 'Execute' },
      status: {
        phase: 'Cancelled',
        message: 'wrong site',
        startTime: at(1),
        completionTime: at(5),
        cancelRequest: { via: 'Signal', requestedBy: 'ann', reason: 'wrong site', time: at(4) },
        stageStatuses: [
          {
            name: 's',
            phase: 'Failed',
            startTime: at(1),
            completionTime: at(5),
            workflowExecutions: [
              {
                workflowRef: { name: 'w' },
                phase: 'Failed',
                startTime: at(1),
                completionTime: at(5),
                actionStatuses: [
                  {
                    name: 'a',
                    phase: 'Failed',
                    reason: 'Cancelled',
                    startTime: at(2),
                    completionTime: at(5),
                  },
                ],
              },
            ],
          },
        ],
      },
    };
    expect(sortEntries(statusEntries(execution)).map(({ subject, text }) => `${subject}: ${text}`)).toEqual([
      'web-1: created (Execute of plan web)',
      'web-1: Running',
      's: Running',
      's/w: Running',
      's/w/a: Running',
      'web-1: cancel asked for by Signal as ann because: wrong site',
      's/w/a: Failed in 3s: Cancelled',
      's/w: Failed in 4s',
      's: Failed in 4s',
      'web-1: Cancelled: wrong site',
    ]);
  });
});

describe('entries from Events', () => {
  it('take the last time, the type as level, and the count', () => {
    const event = {
      type: 'Warning',
      reason: 'Paused',
      message: 'waits',
      count: 3,
      lastTimestamp: at(3),
      metadata: {},
    };
    expect(eventEntry(event, 'web-1')).toEqual([
      { time: at(3), source: 'event', level: 'warn', subject: 'web-1', text: 'Paused: waits (3 times)' },
    ]);
    expect(eventEntry({ metadata: {} }, 'web-1')).toEqual([]);
  });

  it('are new when the count rises', () => {
    const [once] = eventEntry({ reason: 'R', lastTimestamp: at(1), metadata: {} }, 'x');
    const [twice] = eventEntry({ reason: 'R', count: 2, lastTimestamp: at(1), metadata: {} }, 'x');
    expect(entryKey(once!)).not.toBe(entryKey(twice!));
  });
});

describe('entries from log files', () => {
  it('are the lines that hold a mark of the run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'drover-logs-'));
    try {
      const line = (fields: object): string =>
        `${JSON.stringify({ level: 30, time: Date.parse(at(1)), ...fields })}\n`;
      await writeFile(
        join(folder, 'bridge.log'),
        line({ msg: 'started run', component: 'bridge', object: 'ns/web-1', uid: 'uid-1', plan: 'web' }) +
          line({ msg: 'other', uid: 'uid-2' }) +
          'not json uid-1\n',
      );
      expect(await readLogFiles(folder, ['uid-1'])).toEqual([
        {
          time: '2026-01-01T10:00:01.000Z',
          source: 'bridge',
          level: 'info',
          subject: 'ns/web-1',
          text: 'started run plan=web',
        },
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('read levels as numbers and words, and the message of an error', () => {
    const line = JSON.stringify({
      level: 'error',
      time: at(1),
      msg: 'failed',
      err: { message: 'refused', stack: 'long' },
    });
    expect(logLineEntry(line, 'worker')[0]).toMatchObject({ level: 'error', text: 'failed err=refused' });
    expect(logLineEntry('{"msg":"no time"}', 'worker')).toEqual([]);
  });
});

describe('entries from a history', () => {
  const eventTime = { seconds: Date.parse(at(1)) / 1000, nanos: 0 } as never;
  const event = (eventId: number, fields: object) => ({ eventId: eventId as never, eventTime, ...fields });
  const failure = { message: 'Activity task failed', cause: { message: 'POST http://x answered 503' } };

  it('tell further attempts with the failure before, by the name of the action', () => {
    const entries = createStory('s0/').read([
      event(5, {
        activityTaskScheduledEventAttributes: { activityType: { name: 'http' }, activityId: '5' },
        userMetadata: { summary: defaultPayloadConverter.toPayload('switch-dns') },
      }),
      event(6, {
        activityTaskStartedEventAttributes: {
          scheduledEventId: 5 as never,
          attempt: 3,
          lastFailure: failure,
        },
      }),
      event(7, { activityTaskFailedEventAttributes: { scheduledEventId: 5 as never, failure } }),
    ]);
    // The description of a running activity gives the same attempt with another time.
    expect(entryKey({ ...entries[0]!, time: at(9) })).toBe(entryKey(entries[0]!));
    expect(entries.map(({ level, subject, text }) => `${level} ${subject} ${text}`)).toEqual([
      'warn s0/http switch-dns attempt 3; the one before: POST http://x answered 503',
      'error s0/http switch-dns failed: POST http://x answered 503',
    ]);
  });

  it('leave out first attempts, and tell signals with what they carry', () => {
    const entries = createStory('').read([
      event(5, { activityTaskScheduledEventAttributes: { activityType: { name: 'http' } } }),
      event(6, { activityTaskStartedEventAttributes: { scheduledEventId: 5 as never, attempt: 1 } }),
      event(8, {
        workflowExecutionSignaledEventAttributes: {
          signalName: 'cancel',
          input: { payloads: [defaultPayloadConverter.toPayload({ reason: 'wrong' })] },
        },
      }),
      event(9, {
        workflowExecutionSignaledEventAttributes: {
          signalName: 'note',
          input: {
            payloads: [
              defaultPayloadConverter.toPayload({
                at: { stage: 0, workflow: 0, action: 1 },
                message: 'Job a/b waits',
              }),
            ],
          },
        },
      }),
    ]);
    expect(entries.map(({ text }) => text)).toEqual([
      'signal cancel {"reason":"wrong"}',
      'signal note: Job a/b waits',
    ]);
  });
});
