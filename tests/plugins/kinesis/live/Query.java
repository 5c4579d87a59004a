import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;

import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQuery;

/**
 * A query with the qubole connector, five records of a shard in a batch at most: prints stream, sequence number and data
 * of at least so many records, then END once their batch is committed, and stops while the next batch is under way.
 */
public class Query {
    private static volatile long last = -1;
    private static int left;

    public static void main(String[] args) throws Exception {
        left = Integer.parseInt(args[4]);
        SparkSession spark = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", false)
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", 2)
                .getOrCreate();
        Dataset<String> records = spark.readStream()
                .format("kinesis")
                .option("streamName", args[0])
                .option("endpointUrl", args[1])
                .option("regionName", "us-east-1")
                .option("awsAccessKeyId", "test")
                .option("awsSecretKey", "test")
                .option("startingposition", args[3])
                .option("kinesis.executor.maxFetchRecordsPerShard", 5)
                .option("kinesis.executor.maxRecordPerRead", 5)
                .option("kinesis.client.describeShardInterval", "1s")
                .load()
                .selectExpr("concat_ws(' ', streamName, sequenceNumber, cast(data AS string))")
                .as(Encoders.STRING());
        VoidFunction2<Dataset<String>, Long> print = (batch, id) -> {
            if (left <= 0) {
                new CountDownLatch(1).await();
            }
            List<String> rows = batch.collectAsList();
            rows.forEach(System.out::println);
            left -= rows.size();
            last = left <= 0 ? id : -1;
        };
        StreamingQuery query =
                records.writeStream().option("checkpointLocation", args[2]).foreachBatch(print).start();
        while (last < 0 || query.lastProgress() == null || query.lastProgress().batchId() < last) {
            if (query.awaitTermination(100)) {
                throw new IllegalStateException("the query has ended");
            }
        }
        System.out.println("END");
        Thread stopping = new Thread(() -> stop(query));
        stopping.setDaemon(true);
        stopping.start();
        // A batch that is being planned may swallow the interruption, and then waits without end.
        stopping.join(30_000);
        Runtime.getRuntime().halt(0);
    }

    private static void stop(StreamingQuery query) {
        try {
            query.stop();
        } catch (TimeoutException unfinished) {
            // It is ended with its process.
        }
    }
}
