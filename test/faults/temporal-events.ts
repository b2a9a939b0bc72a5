/** Tells from a call to Temporal which boundary it passes, and follows which task belongs to which run. */
import { gunzipSync } from 'node:zlib';
import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import { journeyOf } from './boundaries.js';
import type { Boundary, Side } from './boundaries.js';

const api = proto.temporal.api.workflowservice.v1;

/** What a call passes, if anything. */
export interface TemporalEvent {
  boundary: Boundary;
  side: Side;
  journey: string;
  what: string;
}

/** Reads the calls of one client. */
export interface TemporalReader {
  /** Called with the request before it is forwarded. */
  before(method: string, request: Buffer): TemporalEvent | undefined;
  /** Called with a good answer before it is passed back. */
  after(method: string, request: Buffer, response: Buffer): TemporalEvent[];
}

interface KnownTask {
  journey: string;
  activity: string;
}

const KNOWN_TASKS = 5000;

/** A reader for a bridge or a worker. */
export function createTemporalReader(role: 'bridge' | 'worker'): TemporalReader {
  const tasks = new Map<string, KnownTask>();

  function learn(token: Uint8Array, workflowId: string, activity: string): string | undefined {
    const journey = journeyOf(workflowId);
    if (journey === undefined) return undefined;
    tasks.set(keyOf(token), { journey, activity });
    if (tasks.size > KNOWN_TASKS) tasks.delete(tasks.keys().next().value ?? '');
    return journey;
  }

  function started(task: temporal.api.workflowservice.v1.IPollActivityTaskQueueResponse): TemporalEvent[] {
    if (task.taskToken === undefined || task.taskToken === null || task.taskToken.length === 0) return [];
    const workflowId = task.workflowExecution?.workflowId ?? '';
    const activity = task.activityType?.name ?? '';
    const journey = learn(task.taskToken, workflowId, activity);
    if (journey === undefined || role === 'bridge') return [];
    return [{ boundary: 'activity-start', side: 'before', journey, what: `${activity} of ${workflowId}` }];
  }

  function completed(method: string, request: Buffer, side: Side): TemporalEvent | undefined {
    switch (method) {
      case 'RespondWorkflowTaskCompleted': {
        if (role === 'bridge') return undefined;
        const { taskToken } = api.RespondWorkflowTaskCompletedRequest.decode(request);
        const task = tasks.get(keyOf(taskToken));
        return task && { boundary: 'workflow-task', side, journey: task.journey, what: method };
      }
      case 'RespondActivityTaskCompleted': {
        const { taskToken } = api.RespondActivityTaskCompletedRequest.decode(request);
        const task = tasks.get(keyOf(taskToken));
        const boundary = role === 'bridge' ? 'mirror-step' : 'activity-completion';
        return task && { boundary, side, journey: task.journey, what: `${method} of ${task.activity}` };
      }
      case 'StartWorkflowExecution': {
        const { workflowId } = api.StartWorkflowExecutionRequest.decode(request);
        const journey = journeyOf(workflowId);
        return journey === undefined ? undefined : { boundary: 'start', side, journey, what: workflowId };
      }
      case 'SignalWorkflowExecution': {
        const { workflowExecution, signalName } = api.SignalWorkflowExecutionRequest.decode(request);
        const journey = journeyOf(workflowExecution?.workflowId ?? '');
        return journey === undefined || signalName !== 'cancel'
          ? undefined
          : { boundary: 'cancel', side, journey, what: `signal ${signalName}` };
      }
      default:
        return undefined;
    }
  }

  return {
    before: (method, request) => completed(method, request, 'before'),
    after(method, request, response) {
      const own = completed(method, request, 'after');
      const events = own === undefined ? [] : [own];
      switch (method) {
        case 'PollActivityTaskQueue':
          return started(api.PollActivityTaskQueueResponse.decode(response));
        case 'PollWorkflowTaskQueue': {
          const task = api.PollWorkflowTaskQueueResponse.decode(response);
          if (task.taskToken.length > 0) {
            learn(task.taskToken, task.workflowExecution?.workflowId ?? '', '');
          }
          return events;
        }
        case 'RespondWorkflowTaskCompleted': {
          const answer = api.RespondWorkflowTaskCompletedResponse.decode(response);
          const next = answer.workflowTask;
          if (next?.taskToken) learn(next.taskToken, next.workflowExecution?.workflowId ?? '', '');
          return [...events, ...answer.activityTasks.flatMap(started)];
        }
        default:
          return events;
      }
    },
  };
}

/** The first message of a gRPC body. */
export function messageOf(body: Buffer, encoding: string | undefined): Buffer {
  if (body.length < 5) return Buffer.alloc(0);
  const message = body.subarray(5, 5 + body.readUInt32BE(1));
  return body[0] === 1 && encoding === 'gzip' ? gunzipSync(message) : message;
}

const keyOf = (token: Uint8Array): string => Buffer.from(token).toString('base64');
