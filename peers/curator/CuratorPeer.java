import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.imps.DefaultACLProvider;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.server.auth.DigestLoginModule;

/** Apache Curator's locks, driven through the standard input; see README.md. */
final class CuratorPeer extends Peer {
    private final String hosts;
    private final int sessionTimeout;
    private final CuratorFramework client;

    // One object for each path, as Curator's documentation has it. Threads share the mutexes.
    private final Map<String, NodeMutex> mutexes = new ConcurrentHashMap<>();
    private final Map<String, NodeReadWriteLock> readWriteLocks = new HashMap<>();
    private final Map<String, SharedCount> counts = new HashMap<>();
    private final Map<String, LeaderLatch> latches = new HashMap<>();
    private final Map<String, DistributedDoubleBarrier> doubleBarriers = new HashMap<>();
    private final Map<String, CountDownLatch> revocations = new HashMap<>();
    // By path and number: each number, or counter, is a semaphore object of its own.
    private final Map<String, InterProcessSemaphoreV2> semaphores = new HashMap<>();
    private final Map<String, Deque<Lease>> leases = new HashMap<>();
    private InterProcessMultiLock multiLock;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: curator HOSTS SESSION_TIMEOUT_MS");
            System.exit(2);
        }
        int status = 0;
        try (var peer = new CuratorPeer(arguments[0], Integer.parseInt(arguments[1]))) {
            peer.serve();
        } catch (Refused e) {
            say(describe(e));
            status = 1;
        }
        System.exit(status);
    }

    private CuratorPeer(String hosts, int sessionTimeout) throws Exception {
        this.hosts = hosts;
        this.sessionTimeout = sessionTimeout;
        String sasl = System.getenv("COLOCK_PEER_SASL");
        if (sasl != null) {
            identify(sasl);
        }
        // But for the time-outs as newClient() makes it.
        client = CuratorFrameworkFactory.builder().connectString(hosts)
                .sessionTimeoutMs(sessionTimeout)
                .connectionTimeoutMs(Math.min(15_000, sessionTimeout))
                .retryPolicy(new ExponentialBackoffRetry(1000, 3))
                .aclProvider(sasl != null ? new CreatorOnly() : new DefaultACLProvider()).build();
        // After SUSPENDED nobody can be certain to hold a lock: its documentation wants users to stop.
        client.getConnectionStateListenable().addListener((c, state) -> {
            if (state.isConnected()) {
                reconnected();
            } else {
                interrupted(state.name());
            }
        });
        client.start();
        if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) {
            client.close();
            throw new Refused("cannot connect to " + hosts);
        }

        add("queue", "PATH", a -> list("queue", nodeMutex(a[0]).getParticipantNodes()));
        addRevocation();
        addMultiLock();
        addReadWriteLock();
        addSemaphore();
        addLeaderLatch();
        addBarriers();
    }

    /** In place of a file for JAAS. */
    private static void identify(String sasl) {
        String[] userAndPassword = sasl.split(":", 2);
        boolean byTicket = userAndPassword.length == 1;
        if (byTicket) { // Java knows KRB5CCNAME, but not this variable
            System.setProperty("java.security.krb5.conf", System.getenv("KRB5_CONFIG"));
        }
        var entry = new AppConfigurationEntry(
                byTicket ? "com.sun.security.auth.module.Krb5LoginModule"
                        : DigestLoginModule.class.getName(),
                AppConfigurationEntry.LoginModuleControlFlag.REQUIRED,
                byTicket ? Map.of("useTicketCache", "true", "doNotPrompt", "true")
                        : Map.of("username", userAndPassword[0], "password", userAndPassword[1]));
        Configuration.setConfiguration(new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                return new AppConfigurationEntry[] {entry};
            }
        });
    }

    private static final class CreatorOnly implements ACLProvider {
        @Override
        public List<ACL> getDefaultAcl() {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }
    }

    @Override
    Peer another() throws Exception {
        return new CuratorPeer(hosts, sessionTimeout);
    }

    @Override
    public void close() throws Exception {
        super.close();
        client.close();
    }

    @Override
    byte[] read(String path) throws Exception {
        return client.getData().forPath(path);
    }

    @Override
    void write(String path, byte[] data) throws Exception {
        client.setData().forPath(path, data);
    }

    @Override
    void exists(String path) throws Exception {
        client.checkExists().forPath(path);
    }

    private static String list(String word, Collection<String> items) {
        return (word + " " + String.join(" ", items)).trim();
    }

    // ---------------------------------------------------------------------------------- mutex

    // Curator lets only subclasses see which node is theirs.

    private static final class NodeMutex extends InterProcessMutex {
        NodeMutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String node() {
            return getLockPath();
        }
    }

    private record Adapter(InterProcessMutex mutex, Supplier<String> node) implements Mutex {
        @Override
        public String acquire() throws Exception {
            mutex.acquire();
            return node.get();
        }

        @Override
        public String acquire(long milliseconds) throws Exception {
            return mutex.acquire(milliseconds, TimeUnit.MILLISECONDS) ? node.get() : null;
        }

        @Override
        public void release() throws Exception {
            mutex.release();
        }
    }

    private NodeMutex nodeMutex(String path) {
        return mutexes.computeIfAbsent(path, p -> new NodeMutex(client, p));
    }

    @Override
    Mutex mutex(String path) {
        NodeMutex mutex = nodeMutex(path);
        return new Adapter(mutex, mutex::node);
    }

    private void addRevocation() {
        add("lock-revocable", "PATH", a -> {
            var asked = new CountDownLatch(1);
            // Holds until the next release.
            nodeMutex(a[0]).makeRevocable(mutex -> asked.countDown());
            revocations.put(a[0], asked);
            return "locked " + mutex(a[0]).acquire();
        });
        add("await-revocation", "PATH MS", a -> {
            CountDownLatch asked = known(revocations, a[0], "no revocable lock at ");
            return asked.await(number(a[1]), TimeUnit.MILLISECONDS) ? "asked" : "not asked";
        });
        add("revoke", "NODE", a -> {
            Revoker.attemptRevoke(client, a[0]);
            return "revoked";
        });
    }

    private void addMultiLock() {
        add("multi-lock", "PATH PATH...", a -> {
            if (multiLock != null) {
                throw new Refused("already locked");
            }
            var lock = new InterProcessMultiLock(client, List.of(a));
            lock.acquire();
            multiLock = lock;
            return "locked";
        });
        add("multi-unlock", "", a -> {
            if (multiLock == null) {
                throw new Refused("not locked");
            }
            InterProcessMultiLock lock = multiLock;
            multiLock = null;
            lock.release();
            return "unlocked";
        });
    }

    // ---------------------------------------------------------------------- read or write lock

    private static final class NodeWriteLock extends InterProcessReadWriteLock.WriteLock {
        NodeWriteLock(CuratorFramework client, String path) {
            super(client, path, null);
        }

        String node() {
            return getLockPath();
        }
    }

    private static final class NodeReadLock extends InterProcessReadWriteLock.ReadLock {
        NodeReadLock(CuratorFramework client, String path, NodeWriteLock writeLock) {
            super(client, path, null, writeLock);
        }

        String node() {
            return getLockPath();
        }
    }

    private static final class NodeReadWriteLock extends InterProcessReadWriteLock {
        final Mutex read;
        final Mutex write;

        NodeReadWriteLock(CuratorFramework client, String path) {
            this(client, path, new NodeWriteLock(client, path));
        }

        private NodeReadWriteLock(CuratorFramework client, String path, NodeWriteLock write) {
            this(new NodeReadLock(client, path, write), write);
        }

        private NodeReadWriteLock(NodeReadLock read, NodeWriteLock write) {
            super(write, read);
            this.read = new Adapter(readLock(), read::node);
            this.write = new Adapter(writeLock(), write::node);
        }
    }

    private NodeReadWriteLock readWriteLock(String path) {
        return readWriteLocks.computeIfAbsent(path, p -> new NodeReadWriteLock(client, p));
    }

    private void addReadWriteLock() {
        add("read-lock", "PATH", a -> "locked " + readWriteLock(a[0]).read.acquire());
        add("write-lock", "PATH", a -> "locked " + readWriteLock(a[0]).write.acquire());
        add("try-read", "PATH MS",
                a -> lockedOrBusy(readWriteLock(a[0]).read.acquire(number(a[1]))));
        add("try-write", "PATH MS",
                a -> lockedOrBusy(readWriteLock(a[0]).write.acquire(number(a[1]))));
        add("read-unlock", "PATH", a -> {
            readWriteLock(a[0]).read.release();
            return "unlocked";
        });
        add("write-unlock", "PATH", a -> {
            readWriteLock(a[0]).write.release();
            return "unlocked";
        });
        add("rw-contend", "PATH MS READ_PERCENT [SESSIONS]", a -> {
            long percent = number(a[2]);
            List<Supplier<Mutex>> each = new ArrayList<>();
            for (Peer session : sessions(a, 3)) {
                NodeReadWriteLock lock = ((CuratorPeer) session).readWriteLock(a[0]);
                each.add(() -> ThreadLocalRandom.current().nextInt(100) < percent
                        ? lock.read : lock.write);
            }
            return inThreads(each, nanoseconds(a[1]), 0);
        });
        add("rw-turns", "PATH COUNT COUNTER",
                a -> increments(readWriteLock(a[0]).write, number(a[1]), a[2]));
    }

    // ------------------------------------------------------------------------------ semaphore

    private InterProcessSemaphoreV2 semaphore(String path, long max) {
        return semaphores.computeIfAbsent(path + " " + max,
                key -> new InterProcessSemaphoreV2(client, path, (int) max));
    }

    private InterProcessSemaphoreV2 countedSemaphore(String path, String countPath)
            throws Exception {
        SharedCount count = count(countPath);
        return semaphores.computeIfAbsent(path + " " + countPath,
                key -> new InterProcessSemaphoreV2(client, path, count));
    }

    /** A node that does not exist is made, and counts 0. */
    private SharedCount count(String path) throws Exception {
        SharedCount count = counts.get(path);
        if (count == null) {
            count = new SharedCount(client, path, 0);
            count.start();
            counts.put(path, count);
        }
        return count;
    }

    private String acquired(String path, Collection<Lease> granted) {
        if (granted == null) {
            return "busy";
        }
        leases.computeIfAbsent(path, p -> new ArrayDeque<>()).addAll(granted);
        return "acquired";
    }

    private void addSemaphore() {
        add("acquire", "PATH MAX N",
                a -> acquired(a[0], semaphore(a[0], positive(a[1])).acquire((int) positive(a[2]))));
        add("try-acquire", "PATH MAX N MS",
                a -> acquired(a[0], semaphore(a[0], positive(a[1])).acquire((int) positive(a[2]),
                        number(a[3]), TimeUnit.MILLISECONDS)));
        add("acquire-counted", "PATH COUNTPATH N",
                a -> acquired(a[0], countedSemaphore(a[0], a[1]).acquire((int) positive(a[2]))));
        add("set-count", "COUNTPATH VALUE", a -> {
            count(a[0]).setCount((int) number(a[1]));
            return "set";
        });
        add("release", "PATH N", a -> {
            Deque<Lease> held = leases.getOrDefault(a[0], new ArrayDeque<>());
            long n = positive(a[1]);
            if (held.size() < n) {
                throw new Refused("only " + held.size() + " acquired at " + a[0]);
            }
            for (long i = 0; i < n; ++i) {
                held.removeFirst().close();
            }
            return "released";
        });
    }

    // --------------------------------------------------------------------------- leader latch

    private void addLeaderLatch() {
        add("latch", "PATH ID", a -> {
            if (latches.containsKey(a[0])) {
                throw new Refused("already latched at " + a[0]);
            }
            var latch = new LeaderLatch(client, a[0], a[1]);
            latch.start();
            latches.put(a[0], latch);
            // It joins the queue, and leaves it, in the background.
            await(() -> latch.getOurPath() != null);
            return "latched";
        });
        add("unlatch", "PATH", a -> {
            LeaderLatch latch = known(latches, a[0], "no latch at ");
            String node = latch.getOurPath();
            latches.remove(a[0]);
            latch.close();
            await(() -> node == null || client.checkExists().forPath(node) == null);
            return "unlatched";
        });
        add("is-leader", "PATH",
                a -> known(latches, a[0], "no latch at ").hasLeadership() ? "yes" : "no");
        add("await-leader", "PATH MS", a -> {
            LeaderLatch latch = known(latches, a[0], "no latch at ");
            return latch.await(number(a[1]), TimeUnit.MILLISECONDS) ? "leading" : "not leading";
        });
        // These two may be asked by those who take no part.
        add("leader", "PATH",
                a -> list("leader", List.of(new LeaderLatch(client, a[0]).getLeader().getId())));
        add("participants", "PATH", a -> {
            List<String> ids = new ArrayList<>();
            for (Participant participant : new LeaderLatch(client, a[0]).getParticipants()) {
                ids.add(participant.getId());
            }
            return list("participants", ids);
        });
    }

    // ------------------------------------------------------------------------------- barriers

    private void addBarriers() {
        add("set-barrier", "PATH", a -> {
            new DistributedBarrier(client, a[0]).setBarrier();
            return "set";
        });
        add("remove-barrier", "PATH", a -> {
            new DistributedBarrier(client, a[0]).removeBarrier();
            return "removed";
        });
        add("wait-on-barrier", "PATH MS", a -> {
            var barrier = new DistributedBarrier(client, a[0]);
            return barrier.waitOnBarrier(number(a[1]), TimeUnit.MILLISECONDS) ? "passed" : "shut";
        });
        add("enter", "PATH N MS", a -> {
            if (doubleBarriers.containsKey(a[0])) {
                throw new Refused("already entered " + a[0]);
            }
            var barrier = new DistributedDoubleBarrier(client, a[0], (int) positive(a[1]));
            doubleBarriers.put(a[0], barrier);
            return barrier.enter(number(a[2]), TimeUnit.MILLISECONDS) ? "entered" : "alone";
        });
        add("leave", "PATH MS", a -> {
            DistributedDoubleBarrier barrier = known(doubleBarriers, a[0], "did not enter ");
            doubleBarriers.remove(a[0]);
            return barrier.leave(number(a[1]), TimeUnit.MILLISECONDS) ? "left" : "not left";
        });
    }

    /** For ten seconds at most. */
    private static void await(Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (!condition.call() && System.nanoTime() - end < 0) {
            Thread.sleep(1);
        }
    }

    private static <T> T known(Map<String, T> map, String path, String otherwise) throws Refused {
        T value = map.get(path);
        if (value == null) {
            throw new Refused(otherwise + path);
        }
        return value;
    }
}
