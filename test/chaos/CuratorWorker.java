import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.data.Stat;

/**
 * A process of the chaos that uses Apache Curator: takes turns at the mutex, and keeps a journal; see
 * journal.hpp and worker.cpp.
 *
 * <p>A holder of Curator's does not know for how long it holds the lock. So it proves it: a transaction
 * which checks that its node is there was carried out after the time that the line "holds" tells.
 */
final class CuratorWorker {
    private static final String PATH = "/chaos/mutex";

    /** Curator lets only subclasses see which node is theirs. */
    private static final class NodeMutex extends InterProcessMutex {
        NodeMutex(CuratorFramework client) {
            super(client, PATH);
        }

        String node() {
            return getLockPath();
        }
    }

    private final CuratorFramework client;
    private final FileChannel journal;
    private final SocketChannel register;
    private final String name;
    private final Random random;
    private final NodeMutex mutex;
    private volatile boolean quiet;
    private volatile boolean finishing;
    private long turn;

    /** HOSTS JOURNAL REGISTER NAME SESSION_MS SEED */
    public static void main(String[] arguments) throws Exception {
        new CuratorWorker(arguments).run();
        System.exit(0);
    }

    private CuratorWorker(String[] arguments) throws IOException {
        client = CuratorFrameworkFactory.newClient(arguments[0], Integer.parseInt(arguments[4]),
                Integer.parseInt(arguments[4]), new RetryOneTime(500));
        journal = FileChannel.open(Path.of(arguments[1]), StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
        register = SocketChannel.open(StandardProtocolFamily.UNIX);
        register.connect(UnixDomainSocketAddress.of(arguments[2]));
        name = arguments[3];
        random = new Random(Long.parseUnsignedLong(arguments[5]));
        mutex = new NodeMutex(client);
    }

    private void run() throws Exception {
        var obeying = new Thread(this::obey);
        obeying.setDaemon(true);
        obeying.start();
        client.start();
        while (!finishing && !client.blockUntilConnected(100, TimeUnit.MILLISECONDS)) {
            continue;
        }
        write(System.nanoTime(), "started 0");
        while (!quiet) {
            takeTurn();
            Thread.sleep(random.nextInt(150));
        }
        write(System.nanoTime(), "quiet 0");
        while (!finishing) {
            Thread.sleep(5);
        }
        client.close();
        write(System.nanoTime(), "closed 0 0");
    }

    private void obey() {
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            String line = in.readLine();
            while (line != null && !line.equals("finish")) {
                quiet = true;
                line = in.readLine();
            }
        } catch (IOException e) {
            // the same as its end
        }
        quiet = true;
        finishing = true;
    }

    private void takeTurn() throws IOException {
        ++turn;
        write(System.nanoTime(), "asked " + turn + " mutex exclusive");
        boolean granted = false;
        try {
            granted = mutex.acquire(random.nextInt(6000), TimeUnit.MILLISECONDS);
        } catch (Exception e) {
            write(System.nanoTime(), "refused " + turn + " " + e.getClass().getSimpleName());
            return;
        }
        if (!granted) {
            write(System.nanoTime(), "refused " + turn + " busy");
            return;
        }
        try {
            hold(mutex.node());
        } catch (Exception e) {
            // What it cannot prove it does not claim.
        }
        write(System.nanoTime(), "leaving " + turn);
        String result = "0";
        try {
            mutex.release();
        } catch (Exception e) {
            result = e.getClass().getSimpleName();
        }
        write(System.nanoTime(), "left " + turn + " " + result);
    }

    private void hold(String node) throws Exception {
        long granted = System.nanoTime();
        Stat stat = null;
        try {
            stat = client.checkExists().forPath(node);
        } finally {
            // The token that a contender of colock's would have there.
            String token = String.format("%016x%016x", stat == null ? 0 : stat.getCzxid(), 0);
            write(granted, "granted " + turn + " " + token);
            if (stat != null) {
                holdWith(node, token);
            }
        }
    }

    private void holdWith(String node, String token) throws Exception {
        int chosen = random.nextInt(1000);
        int most = chosen < 850 ? 25 : chosen < 970 ? 300 : chosen < 990 ? 3_000 : 15_000;
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(random.nextInt(most));
        prove(node);
        String answer = ask("mutex " + name + " " + turn + " " + token);
        write(System.nanoTime(), answer + " " + turn);
        while (System.nanoTime() - until < 0 && !finishing) {
            Thread.sleep(Math.max(0, Math.min(15, (until - System.nanoTime()) / 1_000_000)));
            prove(node);
        }
    }

    private void prove(String node) throws Exception {
        long at = System.nanoTime();
        client.transaction().forOperations(client.transactionOp().check().forPath(node));
        write(at, "holds " + turn);
    }

    private String ask(String line) throws IOException {
        register.write(ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.US_ASCII)));
        var answer = new StringBuilder();
        var bytes = ByteBuffer.allocate(64);
        while (answer.indexOf("\n") < 0) {
            bytes.clear();
            if (register.read(bytes) < 0) {
                throw new IOException("the register has gone");
            }
            answer.append(new String(bytes.array(), 0, bytes.position(), StandardCharsets.US_ASCII));
        }
        return answer.toString().trim();
    }

    private void write(long at, String text) throws IOException {
        journal.write(ByteBuffer.wrap((at + " " + text + "\n").getBytes(StandardCharsets.US_ASCII)));
    }
}
