// The image, the compose file and the Kubernetes manifests against each other
// and against the program: names, options, ports, probes, volumes, rights.
//   node manifests.js [--self-test]     the latter plants a flaw for each check
'use strict';

const { load, settings, unknownSettings } = require('./world');
const { KINDS, COMPOSE, strangers, strangeObjects } = require('./fields');
const { run } = require('./checks');

const kind = (world, name) => world.kubernetes.find((object) => object.kind === name) || {};
const pod = (world) => kind(world, 'StatefulSet').spec.template;
const container = (world) => pod(world).spec.containers[0];
const service = (world) => world.compose.services.kindex;
const unless = (good, sentence) => (good ? [] : [sentence]);
const below = (file, directory) => file.startsWith(`${directory}/`);
const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// Variables and command of each way to run the image.
function ways(world) {
  const env = Object.fromEntries((container(world).env || []).map(({ name, value }) => [name, value]));
  return [
    ['image', world.env, world.command],
    ['compose', { ...world.env, ...service(world).environment }, service(world).command || world.command],
    ['kubernetes', { ...world.env, ...env }, container(world).args],
  ];
}

// The settings of a way, or what the program says against them.
function effective([name, env, command]) {
  try {
    return { settings: settings(command, env), said: [] };
  } catch (error) {
    return { settings: {}, said: [`${name}: ${error.stderr}`] };
  }
}

function fields(world) {
  return strangeObjects(world.kubernetes, KINDS)
    .concat(strangers(world.compose, COMPOSE, 'compose'));
}

function options(world) {
  return ways(world).flatMap((way) => [...effective(way).said, ...unknownSettings(world, way)]);
}

function ports(world) {
  const target = container(world).ports[0];
  const [spec] = kind(world, 'Service').spec.ports;
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'].map((name) => container(world)[name].httpGet);
  const published = service(world).ports[0].split(':');
  return ways(world)
    .flatMap((way) => {
      const port = Number(String(effective(way).settings.listen).split(':').pop());
      return unless(port === target.containerPort, `${way[0]} listens on ${port}`);
    })
    .concat(unless(Number(world.image.EXPOSE[0]) === target.containerPort, 'EXPOSE has another port'))
    .concat(unless(spec.targetPort === target.name, 'the Service leads to another port'))
    .concat(unless(Number(published.pop()) === target.containerPort, 'compose publishes another port'))
    .concat(unless(published[0] === '127.0.0.1', 'compose publishes to everybody'))
    .concat(probes.flatMap((probe) => unless(probe.port === target.name, `${probe.path} is asked on another port`)))
    .concat(probes.flatMap((probe) => unless(world.routes.includes(probe.path), `there is no ${probe.path}`)));
}

function selectors(world) {
  const set = kind(world, 'StatefulSet').spec;
  const { labels } = pod(world).metadata;
  const budget = kind(world, 'PodDisruptionBudget').spec;
  return [
    ...unless(equal(set.selector.matchLabels, labels), 'the StatefulSet selects other pods'),
    ...unless(equal(kind(world, 'Service').spec.selector, labels), 'the Service selects other pods'),
    ...unless(equal(budget.selector.matchLabels, labels), 'the budget is for other pods'),
    ...unless(set.serviceName === kind(world, 'Service').metadata.name, 'serviceName names no Service'),
    ...unless(set.replicas === 1, 'a data directory belongs to one process'),
    ...unless(budget.minAvailable === set.replicas, 'the budget lets the only pod be moved'),
    ...unless(container(world).image === `kindex:${world.version}`, 'the image has another version'),
  ];
}

function volumes(world) {
  const set = kind(world, 'StatefulSet').spec;
  const mounts = container(world).volumeMounts;
  const claims = set.volumeClaimTemplates.map((claim) => claim.metadata.name);
  const secrets = pod(world).spec.volumes.map((volume) => volume.name);
  const place = (name) => (mounts.find((mount) => mount.name === name) || {}).mountPath;
  const [, , way] = ways(world).map((one) => effective(one).settings);
  const image = effective(ways(world)[0]).settings;
  const mode = pod(world).spec.volumes[0].secret.defaultMode;
  return [
    ...mounts.flatMap(({ name }) => unless([...claims, ...secrets].includes(name), `there is no volume ${name}`)),
    ...unless(way.data === place(claims[0]), 'the data are not on the claim'),
    ...unless(below(way['token-file'] || '', place(secrets[0])), 'the token is not in the Secret'),
    ...unless((mode & 0o7) === 0, 'everybody may read the token'),
    ...unless(image.data === world.image.VOLUME[0], 'the data of the image are on no volume'),
    ...unless(service(world).volumes.includes(`data:${image.data}`), 'the data of compose are on no volume'),
    ...unless('data' in world.compose.volumes, 'compose has no volume data'),
    ...unless(below(image['token-file'] || '', image.data), 'the token of the image is on no volume'),
  ];
}

function rights(world) {
  const context = container(world).securityContext;
  const user = pod(world).spec.securityContext;
  const ids = world.image.USER[0];
  return [
    ...unless(ids !== '0:0' && /^[1-9]\d*:[1-9]\d*$/.test(ids), 'the image runs as root'),
    ...unless(`${user.runAsUser}:${user.runAsGroup}` === ids, 'the pod has another user than the image'),
    ...unless(user.fsGroup === user.runAsGroup, 'the volume is of another group'),
    ...unless(user.runAsNonRoot && user.seccompProfile.type === 'RuntimeDefault', 'the pod is not confined'),
    ...unless(context.readOnlyRootFilesystem && service(world).read_only, 'the root can be written to'),
    ...unless(context.allowPrivilegeEscalation === false, 'privileges can grow'),
    ...unless(equal(context.capabilities.drop, ['ALL']) && equal(service(world).cap_drop, ['ALL']), 'capabilities are left'),
    ...unless(service(world).security_opt.includes('no-new-privileges:true'), 'privileges can grow in compose'),
    ...unless(!pod(world).spec.automountServiceAccountToken, 'the pod may talk to the cluster'),
    ...unless(!ways(world).some(([, env, command]) => 'KINDEX_INSECURE' in env || command.includes('--insecure')), 'everybody is let in'),
  ];
}

const UNITS = { Mi: 2 ** 20, MiB: 2 ** 20, Gi: 2 ** 30, GiB: 2 ** 30 };
function bytes(amount) {
  const [, number, unit] = /^(\d+)(\w+)$/.exec(amount);
  return Number(number) * UNITS[unit];
}

// Cache, bodies, and 128 MiB for everything else fit.
function memory(world) {
  const { limits, requests } = container(world).resources;
  const way = effective(ways(world)[2]).settings;
  const wanted = bytes(way.cache) + bytes(way['bodies-max']) + 128 * UNITS.Mi;
  return [
    ...unless(wanted <= bytes(limits.memory), 'the limit is less than cache and bodies'),
    ...unless(limits.memory === requests.memory, 'memory that is not reserved'),
  ];
}

const CHECKS = { fields, options, ports, selectors, volumes, rights, memory };

// For each check, what spoils a world so that it must find something.
const FLAWS = [
  ['fields', (world) => { container(world).readynessProbe = container(world).readinessProbe; }],
  ['fields', (world) => { container(world).env[0].value = 512; }],
  ['fields', (world) => { kind(world, 'StatefulSet').apiVersion = 'apps/v1beta1'; }],
  ['fields', (world) => { service(world).readonly = true; }],
  ['fields', (world) => { world.kubernetes.pop(); }],
  ['options', (world) => { container(world).args.push('--tokenfile'); }],
  ['options', (world) => { container(world).env[0].value = 'lots'; }],
  ['options', (world) => { container(world).env[0].name = 'KINDEX_CASH'; }],
  ['options', (world) => { world.env.KINDEX_DATUM = '/data'; }],
  ['ports', (world) => { container(world).ports[0].containerPort = 4513; }],
  ['ports', (world) => { world.env.KINDEX_LISTEN = '0.0.0.0:80'; }],
  ['ports', (world) => { container(world).livenessProbe.httpGet.path = '/healthz'; }],
  ['ports', (world) => { service(world).ports = ['4512:4512']; }],
  ['selectors', (world) => { kind(world, 'Service').spec.selector.tier = 'db'; }],
  ['selectors', (world) => { kind(world, 'StatefulSet').spec.replicas = 2; }],
  ['selectors', (world) => { container(world).image = 'kindex:latest'; }],
  ['volumes', (world) => { container(world).volumeMounts[0].mountPath = '/var/data'; }],
  ['volumes', (world) => { container(world).args[2] = '/data/token'; }],
  ['volumes', (world) => { pod(world).spec.volumes[0].secret.defaultMode = 0o444; }],
  ['volumes', (world) => { delete world.compose.volumes.data; }],
  ['rights', (world) => { world.image.USER = ['0:0']; }],
  ['rights', (world) => { container(world).securityContext.readOnlyRootFilesystem = false; }],
  ['rights', (world) => { world.env.KINDEX_INSECURE = '1'; }],
  ['memory', (world) => { container(world).resources.limits.memory = '512Mi'; }],
];

run(load(), CHECKS, FLAWS);
