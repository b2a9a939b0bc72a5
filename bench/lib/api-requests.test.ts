import { describe, expect, it } from 'vitest';
import { classOf, difference, parseApiCounters } from './api-requests.js';

const PAGE = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="dr.example",resource="drplans",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 3
apiserver_request_total{code="409",component="apiserver",dry_run="",group="dr.example",resource="drplans",scope="resource",subresource="status",verb="PATCH",version="v1alpha1"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="events",scope="resource",subresource="",verb="POST",version="v1"} 7
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="",scope="",subresource="/readyz",verb="GET",version=""} 9
apiserver_request_body_size_bytes_bucket{group="",resource="events",verb="create",le="50000"} 7
apiserver_request_body_size_bytes_sum{group="",resource="events",verb="create"} 1234
apiserver_request_body_size_bytes_sum{group="",resource="events",verb="patch"} 66
apiserver_request_duration_seconds_sum{resource="events",verb="POST"} 99
`;

describe('counters of the API server', () => {
  it('adds up answers of every code, by verb, resource and subresource', () => {
    expect([...parseApiCounters(PAGE).requests]).toEqual([
      ['PATCH drplans/status', 5],
      ['POST events', 7],
    ]);
  });
  it('adds up the bytes of bodies by resource', () => {
    expect([...parseApiCounters(PAGE).bodyBytes]).toEqual([['events', 1300]]);
  });
  it('tells what came in between', () => {
    const before = new Map([
      ['a', 1],
      ['b', 2],
    ]);
    expect([...difference(new Map([...before, ['a', 4], ['c', 5]]), before)]).toEqual([
      ['a', 3],
      ['c', 5],
    ]);
  });
});

describe('classOf', () => {
  it.each([
    ['PATCH drplanexecutions/status', 'write'],
    ['POST controllerrevisions', 'write'],
    ['DELETE drplanexecutions', 'write'],
    ['POST events', 'event'],
    ['POST subjectaccessreviews', 'review'],
    ['GET configmaps', 'read'],
    ['WATCH drplans', 'read'],
    ['PUT leases', 'background'],
    ['PATCH nodes/status', 'background'],
  ])('%s is a %s', (counter, expected) => {
    expect(classOf(counter)).toBe(expected);
  });
});
