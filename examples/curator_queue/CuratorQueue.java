import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * The other side of curator_queue.cpp: takes turns on the same counter, under Curator's own mutex.
 *
 * <pre>CuratorQueue [TURNS [HOST:PORT]]</pre>
 */
final class CuratorQueue {
    public static void main(String[] arguments) throws Exception {
        int turns = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 10;
        String hosts = arguments.length > 1 ? arguments[1] : "localhost:2181";
        try (CuratorFramework client =
                CuratorFrameworkFactory.newClient(hosts, new ExponentialBackoffRetry(1000, 3))) {
            client.start();
            if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) {
                System.err.println("cannot connect to " + hosts);
                System.exit(1);
            }
            InterProcessMutex counter = new InterProcessMutex(client, "/locks/counter");
            for (int i = 0; i < turns; ++i) {
                counter.acquire();
                try {
                    System.out.println("Curator counts " + count(client));
                } finally {
                    counter.release();
                }
            }
        }
    }

    private static int count(CuratorFramework client) throws Exception {
        if (client.checkExists().forPath("/counter") == null) {
            client.create().forPath("/counter", text(0));
        }
        byte[] data = client.getData().forPath("/counter");
        int next = Integer.parseInt(new String(data, StandardCharsets.US_ASCII)) + 1;
        client.setData().forPath("/counter", text(next));
        return next;
    }

    private static byte[] text(int number) {
        return Integer.toString(number).getBytes(StandardCharsets.US_ASCII);
    }

    private CuratorQueue() {}
}
