// The compose file and the manifests of several nodes against each other and against
// the program: names, options, ports, secrets, rights, and that a pod keeps nothing.
//   node manifests_nodes.js [--self-test]     the latter plants a flaw for each check
'use strict';

const { load, settings, unknownSettings } = require('./world');
const { NODE_KINDS, NODES_COMPOSE, strangers, strangeObjects } = require('./fields');
const { run } = require('./checks');

const NODES = ['one', 'two', 'three'];
const kind = (world, name) => world.nodes.kubernetes.find((object) => object.kind === name) || {};
const set = (world) => kind(world, 'Deployment').spec;
const pod = (world) => set(world).template;
const container = (world) => pod(world).spec.containers[0];
const services = (world) => NODES.map((name) => world.nodes.compose.services[name]);
const unless = (good, sentence) => (good ? [] : [sentence]);
const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// What Kubernetes would put into the variables of a pod.
function variables(world) {
  const fields = { 'status.podIP': '10.1.2.3', 'metadata.name': 'kindex-1' };
  const env = {};
  for (const { name, value, valueFrom } of container(world).env)
    env[name] = valueFrom ? fields[valueFrom.fieldRef.fieldPath] :
      value.replace(/\$\((\w+)\)/g, (text, other) => env[other] ?? text);
  return env;
}

// Name, variables and command of each process.
function ways(world) {
  return [
    ...services(world).map((service, i) => [NODES[i], { ...world.env, ...service.environment }, service.command]),
    ['kubernetes', { ...world.env, ...variables(world) }, container(world).args],
  ];
}

function effective([name, env, command]) {
  try {
    return { settings: settings(command, env), said: [] };
  } catch (error) {
    return { settings: {}, said: [`${name}: ${error.stderr}`] };
  }
}

function fields(world) {
  return strangeObjects(world.nodes.kubernetes, NODE_KINDS)
    .concat(strangers(world.nodes.compose, NODES_COMPOSE, 'compose'));
}

function options(world) {
  return ways(world).flatMap((way) => [...effective(way).said, ...unknownSettings(world, way)]);
}

// Each node has a name and an address, which leads to where it listens.
function nodes(world) {
  const all = ways(world).map((way) => [way[0], effective(way).settings]);
  const names = all.map(([, one]) => one.node);
  const port = container(world).ports[0].containerPort;
  return [
    ...unless(new Set(names).size === names.length, 'two nodes have one name'),
    ...all.flatMap(([name, one]) => [
      ...unless(String(one.listen).endsWith(`:${port}`), `${name} listens elsewhere`),
      ...unless(String(one.advertise).endsWith(`:${port}`), `${name} is not where it says`),
      ...unless(/^postgresql:/.test(one.engine), `${name} has no database`),
    ]),
    ...NODES.flatMap((name, i) => unless(all[i][1].advertise === `http://${name}:${port}`, `${name} names another node`)),
    ...unless(/^http:\/\/10\.1\.2\.3:/.test(all[3][1].advertise), 'a pod names another address than its own'),
    ...services(world).flatMap((service, i) =>
      unless(/^127\.0\.0\.1:\d+:4512$/.test(service.ports[0]), `compose publishes ${NODES[i]} to everybody`)),
  ];
}

function selectors(world) {
  const { labels } = pod(world).metadata;
  const budget = kind(world, 'PodDisruptionBudget').spec;
  const [spread] = pod(world).spec.topologySpreadConstraints;
  return [
    ...unless(equal(set(world).selector.matchLabels, labels), 'the Deployment selects other pods'),
    ...unless(equal(kind(world, 'Service').spec.selector, labels), 'the Service selects other pods'),
    ...unless(equal(budget.selector.matchLabels, labels), 'the budget is for other pods'),
    ...unless(equal(spread.labelSelector.matchLabels, labels), 'other pods are spread'),
    ...unless(budget.minAvailable < set(world).replicas, 'the budget lets no pod be moved'),
    ...unless(set(world).replicas > set(world).strategy.rollingUpdate.maxUnavailable + 1, 'an upgrade leaves one node'),
    ...unless(container(world).image === `kindex:${world.version}`, 'the image has another version'),
  ];
}

// Nothing but secrets is mounted, and what is read from a file is in one.
function secrets(world) {
  const { volumes } = pod(world).spec;
  const mounts = container(world).volumeMounts;
  const within = (file) => mounts.some(({ mountPath }) => String(file).startsWith(`${mountPath}/`));
  const one = effective(ways(world)[3]).settings;
  const { compose } = world.nodes;
  const named = Object.keys(compose.secrets).map((name) => `/run/secrets/${name}`);
  return [
    ...volumes.flatMap(({ name, secret }) => [
      ...unless(secret !== undefined, `${name} is no Secret`),
      ...unless(secret !== undefined && (secret.defaultMode & 0o7) === 0, `everybody may read ${name}`),
    ]),
    ...mounts.flatMap(({ name }) => unless(volumes.some((volume) => volume.name === name), `there is no volume ${name}`)),
    ...unless(within(one['token-file']), 'the token is in no Secret'),
    ...unless(within(one['engine-password-file']), 'the password is in no Secret'),
    ...ways(world).slice(0, 3).flatMap((way) => [
      ...unless(named.includes(effective(way).settings['token-file']), `${way[0]} has its token elsewhere`),
      ...unless(named.includes(effective(way).settings['engine-password-file']), `${way[0]} has its password elsewhere`),
    ]),
    ...services(world).flatMap((service, i) => unless(!('volumes' in service), `${NODES[i]} has a volume`)),
  ];
}

// What a COMMIT waits for is the standby that is there.
function database(world) {
  const { services: all, configs, volumes } = world.nodes.compose;
  const hosts = /host=([^&]*)/.exec(all.one.environment.KINDEX_ENGINE)[1].split(',');
  return [
    ...hosts.flatMap((host) => unless(host in all, `there is no ${host}`)),
    ...hosts.flatMap((host) => unless(all[host].volumes[0].split(':')[0] in volumes, `${host} has no volume`)),
    ...unless(hosts.length === 2, 'the standby is not found'),
    ...unless(/read-write/.test(all.one.environment.KINDEX_ENGINE), 'nodes would use the standby'),
    ...unless(/synchronous_standby_names = 'walreceiver'/.test(configs.replication.content), 'no COMMIT waits for the standby'),
    ...unless(all.primary.image === all.standby.image, 'the standby has another version'),
    ...unless(!/[^$]\$[A-Z(]/.test(all.standby.command[0] + configs.replication.content), 'compose would replace a variable'),
  ];
}

function rights(world) {
  const context = container(world).securityContext;
  const user = pod(world).spec.securityContext;
  const ways4 = ways(world);
  return [
    ...unless(`${user.runAsUser}:${user.runAsGroup}` === world.image.USER[0], 'the pod has another user than the image'),
    ...unless(user.fsGroup === user.runAsGroup, 'the secrets are of another group'),
    ...unless(user.runAsNonRoot && user.seccompProfile.type === 'RuntimeDefault', 'the pod is not confined'),
    ...unless(context.readOnlyRootFilesystem && !context.allowPrivilegeEscalation, 'the pod may do too much'),
    ...unless(equal(context.capabilities.drop, ['ALL']), 'capabilities are left'),
    ...services(world).flatMap((service, i) => unless(service.read_only && equal(service.cap_drop, ['ALL']) &&
      service.security_opt.includes('no-new-privileges:true'), `${NODES[i]} may do too much`)),
    ...unless(!pod(world).spec.automountServiceAccountToken, 'the pod may talk to the cluster'),
    ...unless(/sslmode=verify-full/.test(ways4[3][1].KINDEX_ENGINE), 'the database is not verified'),
    ...ways4.flatMap(([name, env, command]) =>
      unless(!('KINDEX_INSECURE' in env) && !command.includes('--insecure'), `${name} lets everybody in`)),
    ...unless(!('KINDEX_ENGINE_INSECURE' in ways4[3][1]), 'the password goes to an unverified database'),
  ];
}

const CHECKS = { fields, options, nodes, selectors, secrets, database, rights };

// For each check, what spoils a world so that it must find something.
const FLAWS = [
  ['fields', (world) => { container(world).readynessProbe = container(world).readinessProbe; }],
  ['fields', (world) => { set(world).volumeClaimTemplates = []; }],
  ['fields', (world) => { world.nodes.compose.services.one.secret = ['token']; }],
  ['fields', (world) => { world.nodes.kubernetes.pop(); }],
  ['options', (world) => { container(world).args.push('--tokenfile'); }],
  ['options', (world) => { world.nodes.compose.services.two.environment.KINDEX_ENGIN = 'x'; }],
  ['options', (world) => { world.nodes.compose.services.two.environment.KINDEX_ADVERTISE = 'two'; }],
  ['nodes', (world) => { world.nodes.compose.services.two.environment.KINDEX_NODE = 'one'; }],
  ['nodes', (world) => { world.nodes.compose.services.two.environment.KINDEX_ADVERTISE = 'http://one:4512'; }],
  ['nodes', (world) => { world.nodes.compose.services.one.ports = ['4512:4512']; }],
  ['nodes', (world) => { container(world).env[0].valueFrom.fieldRef.fieldPath = 'metadata.name'; }],
  ['selectors', (world) => { kind(world, 'Service').spec.selector.tier = 'db'; }],
  ['selectors', (world) => { kind(world, 'PodDisruptionBudget').spec.minAvailable = 3; }],
  ['selectors', (world) => { container(world).image = 'kindex:latest'; }],
  ['secrets', (world) => { pod(world).spec.volumes[1].secret.defaultMode = 0o444; }],
  ['secrets', (world) => { container(world).args[4] = '/password'; }],
  ['secrets', (world) => { world.nodes.compose.services.three.command[2] = '/data/token'; }],
  ['secrets', (world) => { world.nodes.compose.services.three.volumes = ['data:/data']; }],
  ['database', (world) => { world.nodes.compose.services.standby.image = 'postgres:16'; }],
  ['database', (world) => { world.nodes.compose.configs.replication.content = ''; }],
  ['database', (world) => { world.nodes.compose.services.standby.command[0] += 'echo $PGDATA'; }],
  ['rights', (world) => { world.image.USER = ['0:0']; }],
  ['rights', (world) => { world.nodes.compose.services.two.read_only = false; }],
  ['rights', (world) => { container(world).env[3].value = 'postgresql://kindex@database-rw/kindex'; }],
  ['rights', (world) => { world.env.KINDEX_INSECURE = '1'; }],
];

run(load(), CHECKS, FLAWS);
