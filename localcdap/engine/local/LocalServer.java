import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connect.service.SparkConnectService;

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
