import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/** Runs the statements of a SQL file on a small cluster of its own. */
class FlinkJob {
  public static void main(String[] folder) throws Exception {
    var settings = EnvironmentSettings.newInstance().inStreamingMode();
    var environment = TableEnvironment.create(
        settings.withConfiguration(GlobalConfiguration.loadConfiguration(folder[0])).build());
    for (var statement : Files.readString(Path.of(folder[0], "job.sql")).split(";\\s*\\n")) {
      var running = environment.executeSql(statement);
      if (running.getJobClient().isPresent()) {
        System.in.read(); // until whoever started it has ended: its savepoint is asked for, and how it ended
        System.exit(0);
      }
    }
  }
}
