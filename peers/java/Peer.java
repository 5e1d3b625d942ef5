import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * What the peers written in Java have in common: the protocol of README.md, and the commands that
 * need nothing but a mutex for a path. Commands are carried out on the thread that calls serve().
 */
abstract class Peer implements AutoCloseable {
    /** A lock of the library. Threads may share it; who acquires it releases it. */
    interface Mutex {
        /** Waits for its turn. The full path of the own node. */
        String acquire() throws Exception;

        /** Waits so long at most; null when it is still busy then. */
        String acquire(long milliseconds) throws Exception;

        void release() throws Exception;
    }

    /** Its answer is that of the program. */
    interface Action {
        String run(String[] arguments) throws Exception;
    }

    /** A command that cannot be carried out; the message is all there is to say. */
    static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String message) {
            super(message, null, false, false);
        }
    }

    private record Command(String name, String parameters, Action action) {
        String run(String[] arguments) throws Exception {
            String[] names = parameters.isEmpty() ? new String[0] : parameters.split(" ");
            boolean more = parameters.endsWith("...");
            boolean optional = parameters.endsWith("]");
            int least = more || optional ? names.length - 1 : names.length;
            int most = more ? Integer.MAX_VALUE : names.length;
            if (arguments.length < least || arguments.length > most) {
                throw new Refused("usage: " + (name + " " + parameters).trim());
            }
            return action.run(arguments);
        }
    }

    private final Map<String, Command> commands = new TreeMap<>();
    private final List<Peer> others = new ArrayList<>();
    private volatile String interruption;
    private volatile boolean connected = true;

    Peer() {
        add("lock", "PATH", a -> "locked " + mutex(a[0]).acquire());
        add("try", "PATH MS", a -> lockedOrBusy(mutex(a[0]).acquire(number(a[1]))));
        add("unlock", "PATH", a -> {
            mutex(a[0]).release();
            return "unlocked";
        });
        add("work", "PATH FILE", a -> {
            LongBuffer stamps = map(a[1]);
            mutex(a[0]).acquire();
            if (connected) {
                interruption = null; // while it waited
            }
            for (String how; ; LockSupport.parkNanos(20_000)) {
                if ((how = interruption) != null) {
                    return "lost " + how;
                }
                stamps.put(System.nanoTime());
            }
        });
        add("turns", "PATH COUNT COUNTER", a -> increments(mutex(a[0]), number(a[1]), a[2]));
        add("contend", "PATH MS HOLD_US [SESSIONS]", a -> {
            long hold = TimeUnit.MICROSECONDS.toNanos(number(a[2]));
            List<Supplier<Mutex>> each = new ArrayList<>();
            for (Peer session : sessions(a, 3)) {
                Mutex mutex = session.mutex(a[0]);
                each.add(() -> mutex);
            }
            return inThreads(each, nanoseconds(a[1]), hold);
        });
        add("cycles", "PATH COUNT", a -> cycles(mutex(a[0]), positive(a[1])));
        add("reads", "COUNT", a -> reads(positive(a[0])));
        add("many", "PREFIX LOCKS INFLIGHT MS", a -> {
            Mutex[] mutexes = new Mutex[(int) positive(a[1])];
            Arrays.setAll(mutexes, i -> mutex(a[0] + "/" + i));
            AtomicLong next = new AtomicLong();
            Supplier<Mutex> inTurn = () -> mutexes[(int) (next.getAndIncrement() % mutexes.length)];
            return inThreads(Collections.nCopies((int) positive(a[2]), inTurn), nanoseconds(a[3]), 0);
        });
        add("hold", "PREFIX SESSIONS", a -> {
            int number = 0;
            for (Peer session : sessions(a, 1)) {
                session.mutex(a[0] + "/" + number++).acquire();
                session.interruption = null;
            }
            return "held";
        });
        add("back", "", a -> {
            long held = 0;
            for (Peer session : sessions(others.size() + 1)) {
                while (session.interruption == null || !session.connected) {
                    Thread.sleep(1);
                }
                held += session.interruption.equals("LOST") ? 0 : 1;
            }
            return "back " + System.nanoTime() + " " + held;
        });
        add("local", "PATH THREADS MS", a -> {
            Mutex mutex = mutex(a[0]);
            Supplier<Mutex> same = () -> mutex;
            return inThreads(Collections.nCopies((int) positive(a[1]), same), nanoseconds(a[2]), 0);
        });
    }

    /** Its library says that a lock may be lost: not held any longer, as it documents. */
    final void interrupted(String how) {
        connected = false;
        interruption = how;
    }

    final void reconnected() {
        connected = true;
    }

    /** On Linux System.nanoTime() is CLOCK_MONOTONIC. */
    private static LongBuffer map(String file) throws IOException {
        try (var channel = FileChannel.open(Path.of(file), StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size())
                    .order(ByteOrder.nativeOrder()).asLongBuffer();
        }
    }

    /** Of the same kind, with a session of its own. */
    abstract Peer another() throws Exception;

    @Override
    public void close() throws Exception {
        for (Peer other : others) {
            other.close();
        }
    }

    /** As many as that argument says, or one. Those that are missing are made, and kept. */
    final List<Peer> sessions(String[] arguments, int index) throws Exception {
        return sessions(arguments.length > index ? (int) positive(arguments[index]) : 1);
    }

    private List<Peer> sessions(int count) throws Exception {
        while (others.size() < count - 1) {
            others.add(another());
        }
        List<Peer> all = new ArrayList<>();
        all.add(this);
        all.addAll(others.subList(0, count - 1));
        return all;
    }

    /** The lock at that path: always the same. */
    abstract Mutex mutex(String path);

    abstract byte[] read(String path) throws Exception;

    /** Whatever its version. */
    abstract void write(String path, byte[] data) throws Exception;

    abstract void exists(String path) throws Exception;

    /** Adds or replaces a command. The last parameter may end in "...": any number of it. */
    final void add(String name, String parameters, Action action) {
        commands.put(name, new Command(name, parameters, action));
    }

    /** Until "quit" or the end of the input. */
    final void serve() throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        say("ready");
        for (String line; (line = in.readLine()) != null && !line.strip().equals("quit");) {
            say(answer(line.strip()));
        }
    }

    static void say(String line) {
        PrintStream out = System.out;
        out.println(line.replaceAll("\\R", " "));
        out.flush();
    }

    static String describe(Throwable error) {
        if (error instanceof Refused) {
            return "error " + error.getMessage();
        }
        return "error " + error.getClass().getSimpleName() + ": " + error.getMessage();
    }

    private String answer(String line) {
        String[] words = line.split("\\s+");
        Command command = commands.get(words[0]);
        try {
            if (command == null) {
                throw new Refused(line.isEmpty() ? "no command" : "unknown command: " + words[0]);
            }
            return command.run(Arrays.copyOfRange(words, 1, words.length));
        } catch (Exception | StackOverflowError | OutOfMemoryError e) {
            return describe(e);
        }
    }

    static String lockedOrBusy(String node) {
        return node == null ? "busy" : "locked " + node;
    }

    // ------------------------------------------------------------------------------ arguments

    static long number(String text) throws Refused {
        try {
            long value = Long.parseLong(text);
            if (value >= 0) {
                return value;
            }
        } catch (NumberFormatException e) {
            // the same answer
        }
        throw new Refused("not a number: " + text);
    }

    static long positive(String text) throws Refused {
        long value = number(text);
        if (value == 0 || value > Integer.MAX_VALUE) {
            throw new Refused("out of range: " + text);
        }
        return value;
    }

    static long nanoseconds(String milliseconds) throws Refused {
        return TimeUnit.MILLISECONDS.toNanos(number(milliseconds));
    }

    // --------------------------------------------------------------------------- measurements

    final String increments(Mutex mutex, long count, String counter) throws Exception {
        for (long i = 0; i < count; ++i) {
            mutex.acquire();
            try {
                String text = new String(read(counter), StandardCharsets.US_ASCII).strip();
                long next = number(text) + 1;
                write(counter, Long.toString(next).getBytes(StandardCharsets.US_ASCII));
            } finally {
                mutex.release();
            }
        }
        return "done " + count;
    }

    /** How many turns were granted before the end, a time of System.nanoTime(). */
    static long turns(Supplier<Mutex> next, long end, long holdNanoseconds) throws Exception {
        long turns = 0;
        while (System.nanoTime() - end < 0) {
            Mutex mutex = next.get();
            mutex.acquire();
            try {
                long granted = System.nanoTime();
                if (granted - end < 0) {
                    ++turns;
                    sleepUntil(granted + holdNanoseconds);
                }
            } finally {
                mutex.release();
            }
        }
        return turns;
    }

    /** Sleeps, but for the last tenth of a millisecond, which is about what a sleep is late. */
    private static void sleepUntil(long time) {
        for (long left; (left = time - System.nanoTime()) > 0;) {
            if (left > 100_000) {
                LockSupport.parkNanos(left - 100_000);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** A thread for each that tells which lock is next. */
    static String inThreads(List<Supplier<Mutex>> each, long nanoseconds, long holdNanoseconds)
            throws Exception {
        var pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(each.size());
        try {
            pool.prestartAllCoreThreads();
            long end = System.nanoTime() + nanoseconds;
            List<Callable<Long>> work = new ArrayList<>();
            for (Supplier<Mutex> next : each) {
                work.add(() -> turns(next, end, holdNanoseconds));
            }
            long sum = 0;
            for (Future<Long> turns : pool.invokeAll(work)) {
                sum += turns.get();
            }
            return "turns " + sum;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            pool.shutdown();
        }
    }

    private static String cycles(Mutex mutex, long count) throws Exception {
        List<Long> locks = new ArrayList<>();
        List<Long> cycles = new ArrayList<>();
        for (long i = 0; i < count; ++i) {
            long begin = System.nanoTime();
            mutex.acquire();
            long granted = System.nanoTime();
            mutex.release();
            locks.add(granted - begin);
            cycles.add(System.nanoTime() - begin);
        }
        return "cycles " + microseconds(mean(locks)) + " " + microseconds(mean(cycles)) + " "
                + microseconds(median(locks)) + " " + microseconds(median(cycles));
    }

    private String reads(long count) throws Exception {
        List<Long> times = new ArrayList<>();
        for (long i = 0; i < count; ++i) {
            long begin = System.nanoTime();
            exists("/");
            times.add(System.nanoTime() - begin);
        }
        return "reads " + microseconds(median(times));
    }

    private static double mean(List<Long> times) {
        return times.stream().mapToLong(Long::longValue).average().orElse(0);
    }

    private static double median(List<Long> times) {
        Collections.sort(times);
        return times.get(times.size() / 2);
    }

    private static String microseconds(double nanoseconds) {
        return String.format(java.util.Locale.ROOT, "%.1f", nanoseconds / 1000);
    }
}
