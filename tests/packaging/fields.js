// The fields that Kubernetes and Compose have for the objects in deploy/, as far
// as those are used: one with a typing error would be ignored, or refused by the cluster.
'use strict';

const text = 'text';
const anything = 'anything';
const labels = { '*': text };
const probe = {
  httpGet: { path: text, port: anything, scheme: text },
  periodSeconds: 'number', timeoutSeconds: 'number', failureThreshold: 'number',
};
const metadata = { name: text, labels };

const container = {
  name: text, image: text, args: [text],
  env: [{ name: text, value: text }],
  ports: [{ name: text, containerPort: 'number' }],
  startupProbe: probe, readinessProbe: probe, livenessProbe: probe,
  resources: { requests: { cpu: text, memory: text }, limits: { cpu: anything, memory: text } },
  securityContext: {
    allowPrivilegeEscalation: 'boolean', readOnlyRootFilesystem: 'boolean',
    capabilities: { drop: [text] },
  },
  volumeMounts: [{ name: text, mountPath: text, readOnly: 'boolean' }],
};

const pod = {
  automountServiceAccountToken: 'boolean', enableServiceLinks: 'boolean',
  terminationGracePeriodSeconds: 'number',
  securityContext: {
    runAsNonRoot: 'boolean', runAsUser: 'number', runAsGroup: 'number', fsGroup: 'number',
    fsGroupChangePolicy: text, seccompProfile: { type: text },
  },
  containers: [container],
  volumes: [{ name: text, secret: { secretName: text, defaultMode: 'number' } }],
};

const KINDS = {
  'v1 Service': { spec: { selector: labels, ports: [{ name: text, port: 'number', targetPort: anything }] } },
  'policy/v1 PodDisruptionBudget': { spec: { minAvailable: 'number', selector: { matchLabels: labels } } },
  'apps/v1 StatefulSet': {
    spec: {
      replicas: 'number', serviceName: text, selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: pod },
      volumeClaimTemplates: [{
        metadata: { name: text },
        spec: { accessModes: [text], resources: { requests: { storage: text } } },
      }],
    },
  },
};
for (const kind of Object.values(KINDS)) Object.assign(kind, { apiVersion: text, kind: text, metadata });

const COMPOSE = {
  services: {
    '*': {
      build: text, ports: [text], volumes: [text], environment: labels, command: [text],
      read_only: 'boolean', cap_drop: [text], security_opt: [text],
      stop_grace_period: text, restart: text,
    },
  },
  volumes: { '*': anything },
};

// ---- Several nodes: compose-nodes.yaml and kubernetes/nodes.yaml -------------

const nodeContainer = {
  ...container,
  env: [{ name: text, value: text, valueFrom: { fieldRef: { fieldPath: text } } }],
};
const nodePod = {
  ...pod,
  containers: [nodeContainer],
  topologySpreadConstraints: [{
    maxSkew: 'number', topologyKey: text, whenUnsatisfiable: text, labelSelector: { matchLabels: labels },
  }],
};

const NODE_KINDS = {
  'v1 Service': KINDS['v1 Service'],
  'policy/v1 PodDisruptionBudget': KINDS['policy/v1 PodDisruptionBudget'],
  'apps/v1 Deployment': {
    apiVersion: text, kind: text, metadata,
    spec: {
      replicas: 'number', selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxUnavailable: 'number', maxSurge: 'number' } },
      template: { metadata: { labels }, spec: nodePod },
    },
  },
};

const NODES_COMPOSE = {
  'x-node': anything, 'x-environment': anything,
  services: {
    '*': {
      ...COMPOSE.services['*'],
      image: text, user: text, entrypoint: [text], depends_on: [text], secrets: [text],
      configs: [{ source: text, target: text }],
    },
  },
  configs: { '*': { content: text } },
  secrets: { '*': { file: text } },
  volumes: { '*': anything },
};

// What in a value is not as the shape says, as sentences.
function strangers(value, shape, at) {
  if (shape === anything) return [];
  if (typeof shape === 'string') {
    const type = shape === text ? 'string' : shape;
    return typeof value === type ? [] : [`${at} is ${JSON.stringify(value)}, not a ${type}`];
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${at} is no list`];
    return value.flatMap((item, i) => strangers(item, shape[0], `${at}[${i}]`));
  }
  if (value === null || typeof value !== 'object') return [`${at} is no object`];
  return Object.entries(value).flatMap(([name, child]) => {
    const inner = shape[name] || shape['*'];
    return inner ? strangers(child, inner, `${at}.${name}`) : [`${at}.${name} is no field`];
  });
}

// The same of all objects of a manifest, of each of which there must be one.
function strangeObjects(objects, kinds) {
  return objects
    .flatMap((object) => {
      const shape = kinds[`${object.apiVersion} ${object.kind}`];
      return shape ? strangers(object, shape, object.kind) : [`there is no ${object.apiVersion} ${object.kind}`];
    })
    .concat(objects.length === Object.keys(kinds).length ? [] : ['an object is missing']);
}

module.exports = { KINDS, COMPOSE, NODE_KINDS, NODES_COMPOSE, strangers, strangeObjects };
