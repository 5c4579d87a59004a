import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import software.amazon.awssdk.http.Protocol;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.exceptions.InvalidStateException;
import software.amazon.kinesis.exceptions.ShutdownException;
import software.amazon.kinesis.leases.LeaseManagementConfig;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ProcessRecordsInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.ShardRecordProcessor;
import software.amazon.kinesis.processor.SingleStreamTracker;
import software.amazon.kinesis.retrieval.KinesisClientRecord;
import software.amazon.kinesis.retrieval.polling.PollingConfig;

/**
 * An application of the KCL 2 or 3: prints shard, sequence number and data of so many records, each checkpointed, then
 * END, holds its leases until its input is closed, and ends in good order.
 */
public class Consumer implements ShardRecordProcessor {
    private static final long FAILOVER_MS = 2_000;
    /** A sync of the shards, the first one too, sleeps for so long behind it; by default for a minute. */
    private static final long SYNC_MS = 1_000;
    private static final CountDownLatch READ = new CountDownLatch(1);
    private static int left;
    private String shard;

    public static void main(String[] args) throws Exception {
        String application = args[0], stream = args[1], worker = args[2];
        URI kinesisAt = URI.create(args[3]), dynamoAt = URI.create(args[4]);
        left = Integer.parseInt(args[5]);
        NettyNioAsyncHttpClient.Builder http = NettyNioAsyncHttpClient.builder().protocol(Protocol.HTTP1_1);
        KinesisAsyncClient kinesis =
                KinesisAsyncClient.builder().httpClientBuilder(http).endpointOverride(kinesisAt).build();
        DynamoDbAsyncClient dynamo =
                DynamoDbAsyncClient.builder().httpClientBuilder(http).endpointOverride(dynamoAt).build();
        CloudWatchAsyncClient unused =
                CloudWatchAsyncClient.builder().httpClientBuilder(http).endpointOverride(dynamoAt).build();
        SingleStreamTracker from = new SingleStreamTracker(
                stream, InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON));
        ConfigsBuilder made = new ConfigsBuilder(from, application, kinesis, dynamo, unused, worker, Consumer::new);
        LeaseManagementConfig leases =
                made.leaseManagementConfig().failoverTimeMillis(FAILOVER_MS).shardSyncIntervalMillis(SYNC_MS);
        withoutWorkerMetrics(leases);
        Scheduler scheduler = new Scheduler(
                made.checkpointConfig(),
                made.coordinatorConfig().parentShardPollIntervalMillis(1_000L),
                leases,
                made.lifecycleConfig(),
                made.metricsConfig().metricsFactory(new NullMetricsFactory()),
                made.processorConfig(),
                made.retrievalConfig().retrievalSpecificConfig(new PollingConfig(stream, kinesis)));
        new Thread(scheduler).start();
        READ.await();
        System.out.println("END");
        System.in.read();
        try {
            scheduler.startGracefulShutdown().get(30, TimeUnit.SECONDS);
        } catch (TimeoutException unfinished) {
            // The consumer of a shard that has just ended is waited for without end: leases stay held then.
        }
        System.exit(0);
    }

    /** Without measures of its processor, which version 3 takes for a minute before it gives a worker any lease. */
    private static void withoutWorkerMetrics(LeaseManagementConfig leases) throws ReflectiveOperationException {
        try {
            Object by = leases.getClass().getMethod("workerUtilizationAwareAssignmentConfig").invoke(leases);
            by.getClass().getMethod("disableWorkerMetrics", boolean.class).invoke(by, true);
        } catch (NoSuchMethodException version2) {
            // It has no such measures.
        }
    }

    @Override
    public void initialize(InitializationInput input) {
        shard = input.shardId();
    }

    @Override
    public void processRecords(ProcessRecordsInput input) {
        synchronized (Consumer.class) {
            for (KinesisClientRecord record : input.records()) {
                if (left == 0) {
                    return;
                }
                String data = StandardCharsets.UTF_8.decode(record.data()).toString();
                System.out.println(shard + " " + record.sequenceNumber() + " " + data);
                try {
                    input.checkpointer().checkpoint(record.sequenceNumber(), record.subSequenceNumber());
                } catch (InvalidStateException | ShutdownException error) {
                    throw new IllegalStateException(error);
                }
                if (--left == 0) {
                    READ.countDown();
                }
            }
        }
    }

    @Override
    public void leaseLost(LeaseLostInput input) {}

    @Override
    public void shardEnded(ShardEndedInput input) {
        try {
            input.checkpointer().checkpoint();
        } catch (InvalidStateException | ShutdownException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void shutdownRequested(ShutdownRequestedInput input) {}
}
