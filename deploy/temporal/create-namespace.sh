#!/bin/sh
# One-shot: creates the Temporal namespace when it is not there. The bridge registers its search attributes itself.
# TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE are read by the temporal program too.
set -eu

: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}"
attempt=0
until temporal operator cluster health >/dev/null 2>&1; do
  attempt=$((attempt + 1))
  if [ "${attempt}" -ge 60 ]; then
    echo "Temporal at ${TEMPORAL_ADDRESS} does not answer" >&2
    exit 1
  fi
  sleep 1
done

if temporal operator namespace describe --namespace "${TEMPORAL_NAMESPACE}" >/dev/null 2>&1; then
  echo "namespace ${TEMPORAL_NAMESPACE} is there"
else
  temporal operator namespace create --namespace "${TEMPORAL_NAMESPACE}" --retention "${TEMPORAL_RETENTION:-168h}"
fi
