import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/** The lock recipe that comes with ZooKeeper, driven through the standard input; see README.md. */
final class RecipePeer extends Peer {
    private final String hosts;
    private final int sessionTimeout;
    private final Client client;
    private final Map<String, Mutex> mutexes = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: zookeeper-recipe HOSTS SESSION_TIMEOUT_MS");
            System.exit(2);
        }
        int status = 0;
        try (var peer = new RecipePeer(arguments[0], Integer.parseInt(arguments[1]))) {
            peer.serve();
        } catch (Refused e) {
            say(describe(e));
            status = 1;
        }
        System.exit(status);
    }

    private RecipePeer(String hosts, int sessionTimeout) throws Exception {
        this.hosts = hosts;
        this.sessionTimeout = sessionTimeout;
        var connected = new CountDownLatch(1);
        client = new Client(hosts, sessionTimeout, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                reconnected();
                connected.countDown();
            } else {
                // The recipe says nothing of a loss; its only sign are the client's events.
                interrupted(event.getState().name());
            }
        });
        if (!connected.await(15, TimeUnit.SECONDS)) {
            client.close();
            throw new Refused("cannot connect to " + hosts);
        }
        // A WriteLock recognises its node by the session. Two on one path would share a node.
        add("local", "PATH THREADS MS", a -> {
            throw new Refused("not supported");
        });
    }

    @Override
    Peer another() throws Exception {
        return new RecipePeer(hosts, sessionTimeout);
    }

    @Override
    public void close() throws Exception {
        super.close();
        client.close();
    }

    @Override
    byte[] read(String path) throws Exception {
        return client.getData(path, false, null);
    }

    @Override
    void write(String path, byte[] data) throws Exception {
        client.setData(path, data, -1);
    }

    @Override
    void exists(String path) throws Exception {
        client.exists(path, false);
    }

    @Override
    Mutex mutex(String path) {
        return mutexes.computeIfAbsent(path, p -> new RecipeMutex(client, p));
    }

    /**
     * Notices when the node that a WriteLock wants to watch has gone since it listed the queue.
     * WriteLock gives up in silence then: it has neither the lock nor a watch.
     */
    private static final class Client extends ZooKeeper {
        private final ThreadLocal<Boolean> missed = ThreadLocal.withInitial(() -> false);

        Client(String hosts, int sessionTimeout, Watcher watcher) throws IOException {
            super(hosts, sessionTimeout, watcher);
        }

        @Override
        public Stat exists(String path, Watcher watcher)
                throws KeeperException, InterruptedException {
            Stat stat = super.exists(path, watcher);
            if (watcher != null && stat == null) {
                missed.set(true);
            }
            return stat;
        }

        /** Whether that happened to this thread since it last asked. */
        boolean missedSomebody() {
            boolean result = missed.get();
            missed.set(false);
            return result;
        }
    }

    /** One turn. It is not used again: a watch that is left over would make it join the queue. */
    private static final class Turn extends WriteLock implements LockListener {
        private final Client client;
        private final CountDownLatch granted = new CountDownLatch(1);

        Turn(Client client, String path) {
            super(client, path, Ids.OPEN_ACL_UNSAFE);
            this.client = client;
            setLockListener(this);
        }

        /** Called by the watch on the predecessor, too. */
        @Override
        public synchronized boolean lock() throws KeeperException, InterruptedException {
            client.missedSomebody();
            while (true) {
                boolean locked = super.lock();
                if (!client.missedSomebody() || locked) {
                    return locked;
                }
            }
        }

        @Override
        public void lockAcquired() {
            granted.countDown();
        }

        @Override
        public void lockReleased() {}

        boolean await(long milliseconds) throws InterruptedException {
            return granted.await(milliseconds, TimeUnit.MILLISECONDS);
        }

        void leave() {
            try {
                unlock();
            } finally {
                close();
            }
        }
    }

    private static final class RecipeMutex implements Mutex {
        private final Client client;
        private final String path;
        // Keeps apart those who share this session.
        private final ReentrantLock inside = new ReentrantLock();
        private boolean parentsExist;
        private Turn turn; // of the thread that has locked it

        RecipeMutex(Client client, String path) {
            this.client = client;
            this.path = path;
        }

        @Override
        public String acquire() throws Exception {
            return acquire(Long.MAX_VALUE);
        }

        @Override
        public String acquire(long milliseconds) throws Exception {
            if (inside.isHeldByCurrentThread()) {
                throw new Refused("already locked: " + path);
            }
            inside.lock();
            boolean locked = false;
            var mine = new Turn(client, path);
            try {
                if (!parentsExist) {
                    createParents();
                    parentsExist = true;
                }
                mine.lock();
                locked = mine.await(milliseconds);
                if (locked) {
                    turn = mine;
                    return mine.getId();
                }
                return null;
            } finally {
                if (!locked) {
                    try {
                        mine.leave();
                    } finally {
                        inside.unlock();
                    }
                }
            }
        }

        @Override
        public void release() throws Exception {
            if (!inside.isHeldByCurrentThread()) {
                throw new Refused("not locked: " + path);
            }
            try {
                turn.leave();
            } finally {
                turn = null;
                inside.unlock();
            }
        }

        /** The recipe creates the last node of its path only. */
        private void createParents() throws KeeperException, InterruptedException {
            for (int i = path.indexOf('/', 1); i > 0; i = path.indexOf('/', i + 1)) {
                try {
                    client.create(path.substring(0, i), new byte[0], Ids.OPEN_ACL_UNSAFE,
                            CreateMode.PERSISTENT);
                } catch (KeeperException.NodeExistsException e) {
                    // by somebody else
                }
            }
        }
    }
}
