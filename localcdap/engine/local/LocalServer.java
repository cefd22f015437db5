import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.TaskContext;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connect.service.SparkConnectService;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;

/**
 * The main class of the local server: Spark with the service of Spark Connect.
 *
 * Spark's own main class would isolate the artifacts of sessions whatever the properties say
 * (SparkConnectServer). Without isolation Spark runs the operations of all sessions with the class loader
 * that the service was started with. So that one is the loader to which ADD JAR adds the drivers of databases.
 */
public class LocalServer {
    public static void main(String[] arguments) throws Exception {
        useFilesWithoutPrograms();
        // Tasks load the classes of this file, too.
        Thread.currentThread().setContextClassLoader(LocalServer.class.getClassLoader());
        ServerFunction.registerAll();
        SparkSession spark = (SparkSession) SparkSession.builder().getOrCreate();
        Thread.currentThread().setContextClassLoader(spark.sharedState().jarClassLoader());
        SparkConnectService.start(spark.sparkContext());
        Thread.currentThread().join();
    }

    /**
     * Have all of Spark use {@link ProgramlessFiles} for local files, without checksum files, which no
     * reader of the files of a run uses.
     *
     * A class named by fs.file.impl would have to be in the class path; this one is compiled in memory.
     */
    private static void useFilesWithoutPrograms() throws Exception {
        Configuration configuration = SparkHadoopUtil.get().conf();
        URI root = URI.create("file:///");
        LocalFileSystem files = new LocalFileSystem(new ProgramlessFiles());
        files.initialize(root, configuration);
        files.setWriteChecksum(false);
        Method add = FileSystem.class.getDeclaredMethod(
            "addFileSystemForTesting",
            new Class[] {URI.class, Configuration.class, FileSystem.class});
        add.setAccessible(true);
        add.invoke(null, new Object[] {root, configuration, files});
    }
}

/**
 * Local files whose permissions are set by a call of the system. Hadoop, whose native library is not part of
 * PySpark, runs the program chmod for each: six times for a sink that writes one file, 5 to 30 ms each.
 */
class ProgramlessFiles extends RawLocalFileSystem {
    private static final int ALL = 07777;
    private static final int IDENTITIES = 06000;

    public void setPermission(Path path, FsPermission permission) throws IOException {
        java.nio.file.Path file = pathToFile(path).toPath();
        int mode = ((Integer) Files.getAttribute(file, "unix:mode")).intValue() & ALL;
        // As chmod does: a folder keeps its set-user-ID and set-group-ID bits.
        int kept = Files.isDirectory(file) ? mode & IDENTITIES : 0;
        int wanted = kept | permission.toShort();
        if (wanted != mode) {
            Files.setAttribute(file, "unix:mode", Integer.valueOf(wanted));
        }
    }
}

/**
 * Builds the calls of functions for observations, which the sessions of this server have beside those of Spark,
 * see localcdap.engine.plan.server_functions.
 *
 * Both have a state, and an observation evaluates them once for each record: each task has objects of its own.
 */
class ServerFunction extends AbstractFunction1 {
    private static final String IS_SAMPLED = "localcdap_is_sampled";
    private static final String WRITE_HASH = "localcdap_write_hash";
    private final String name;

    private ServerFunction(String name) {
        this.name = name;
    }

    /** Register the functions for the sessions that are created later. */
    static void registerAll() {
        register(IS_SAMPLED);
        register(WRITE_HASH);
    }

    private static void register(String name) {
        FunctionRegistry$.MODULE$.builtin().registerFunction(
            new FunctionIdentifier(name),
            new ExpressionInfo(ServerFunction.class.getName(), name),
            new ServerFunction(name));
    }

    public Object apply(Object arguments) {
        Seq given = (Seq) arguments;
        if (this.name.equals(IS_SAMPLED)) {
            return call(new RecordSampler(), DataTypes.BooleanType, given);
        }
        String folder = ((Expression) given.apply(0)).eval(null).toString();
        return call(new HashWriter(folder), DataTypes.StringType, (Seq) given.drop(1));
    }

    private Expression call(Object function, DataType type, Seq arguments) {
        Seq noEncoders = (Seq) arguments.take(0);
        boolean isDeterministic = false;
        return new ScalaUDF(
            function, type, arguments, noEncoders, Option.empty(), Option.apply(this.name), true, isDeterministic);
    }
}

/** Says whether the next record of a task is in the sample, by the rule of localcdap.engine.plan.sink_profiles. */
class RecordSampler extends AbstractFunction0 implements Serializable {
    private static final int LARGE_PARTS = 8;
    private static final int FIRST = 1000;
    private static final int FIRST_OF_SMALL_PARTS = 50;
    private static final int SMALLEST_STEP = 128;
    private long place = -1;

    public Object apply() {
        this.place++;
        int first = TaskContext.getPartitionId() < LARGE_PARTS ? FIRST : FIRST_OF_SMALL_PARTS;
        return Boolean.valueOf(this.place < first || this.place % getStep() == 0);
    }

    /** Return the distance of two sampled records: 64 are for each doubling of the place. */
    private long getStep() {
        return Math.max(Long.highestOneBit(this.place) >> 6, SMALLEST_STEP);
    }
}

/**
 * Writes the halves of hashes into a file of the task, null for a record without a hash.
 *
 * Its result is the name of the file for the first hash, and null otherwise.
 */
class HashWriter extends AbstractFunction2 implements Serializable {
    private static final int BYTES = 65536;
    private final String folder;
    private transient ByteBuffer hashes;
    private transient SeekableByteChannel file;

    HashWriter(String folder) {
        this.folder = folder;
    }

    public Object apply(Object first, Object second) {
        if (first == null) {
            return null;
        }
        try {
            String name = this.file == null ? open() : null;
            if (!this.hashes.hasRemaining()) {
                flush();
            }
            this.hashes.putLong(((Long) first).longValue()).putLong(((Long) second).longValue());
            return name;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private String open() throws IOException {
        String name = "keys-" + UUID.randomUUID();
        FileAttribute isPrivate =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        this.file = Files.newByteChannel(
            Paths.get(this.folder, new String[] {name}),
            EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
            new FileAttribute[] {isPrivate});
        this.hashes = ByteBuffer.allocate(BYTES).order(ByteOrder.nativeOrder());
        TaskContext.get().addTaskCompletionListener(new TaskCompletionListener() {
            public void onTaskCompletion(TaskContext task) {
                close();
            }
        });
        return name;
    }

    private void flush() throws IOException {
        this.hashes.flip();
        while (this.hashes.hasRemaining()) {
            this.file.write(this.hashes);
        }
        this.hashes.clear();
    }

    /** Write what is left; the task fails when that fails. */
    void close() {
        try {
            try {
                flush();
            } finally {
                this.file.close();
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
